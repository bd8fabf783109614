// Package kube is a minimal Kubernetes client for the stand-in: JSON over HTTPS by path, and caches that follow a resource by list
// and watch.
package kube

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"time"
)

const requestTimeout = 20 * time.Second

// Client talks to one API server.
type Client struct {
	Server    string
	Transport *http.Transport
	// Token is sent as a bearer token unless it is empty.
	Token string
}

// StatusError is an answer of the API server that is not a success.
type StatusError struct {
	Code    int
	Message string
}

func (e *StatusError) Error() string { return fmt.Sprintf("%d: %s", e.Code, e.Message) }

// Code returns the HTTP code of a refusal, or 0.
func Code(err error) int {
	if status, ok := errors.AsType[*StatusError](err); ok {
		return status.Code
	}
	return 0
}

// FromKubeconfig reads the current context of a kubeconfig with kubectl, so this package needs no YAML parser.
func FromKubeconfig(ctx context.Context, path string) (*Client, error) {
	if _, err := os.Stat(path); err != nil {
		return nil, err
	}
	out, err := exec.CommandContext(ctx, "kubectl", "--kubeconfig", path, "config", "view", "--raw", "--flatten", "--minify", "-o", "json").Output()
	if err != nil {
		return nil, fmt.Errorf("kubectl config view of %s: %w", path, err)
	}
	return fromConfigView(out)
}

func fromConfigView(view []byte) (*Client, error) {
	var config struct {
		Clusters []struct {
			Cluster struct {
				Server string
				CA     string `json:"certificate-authority-data"`
			}
		}
		Users []struct {
			User struct {
				Cert  string `json:"client-certificate-data"`
				Key   string `json:"client-key-data"`
				Token string
			}
		}
	}
	if err := json.Unmarshal(view, &config); err != nil {
		return nil, fmt.Errorf("kubeconfig: %w", err)
	}
	if len(config.Clusters) == 0 || len(config.Users) == 0 {
		return nil, errors.New("kubeconfig: the current context names no cluster or no user")
	}
	settings := &tls.Config{RootCAs: x509.NewCertPool()}
	ca, err := base64.StdEncoding.DecodeString(config.Clusters[0].Cluster.CA)
	if err != nil {
		return nil, fmt.Errorf("kubeconfig: certificate-authority-data: %w", err)
	}
	settings.RootCAs.AppendCertsFromPEM(ca)
	user := config.Users[0].User
	if user.Cert != "" {
		cert, certErr := base64.StdEncoding.DecodeString(user.Cert)
		key, keyErr := base64.StdEncoding.DecodeString(user.Key)
		if err := errors.Join(certErr, keyErr); err != nil {
			return nil, fmt.Errorf("kubeconfig: client certificate: %w", err)
		}
		pair, err := tls.X509KeyPair(cert, key)
		if err != nil {
			return nil, fmt.Errorf("kubeconfig: client certificate: %w", err)
		}
		settings.Certificates = []tls.Certificate{pair}
	}
	return &Client{
		Server:    config.Clusters[0].Cluster.Server,
		Transport: &http.Transport{TLSClientConfig: settings, MaxIdleConnsPerHost: 64, IdleConnTimeout: time.Minute},
		Token:     user.Token,
	}, nil
}

// Get reads the object or list at path into out.
func (c *Client) Get(ctx context.Context, path string, out any) error {
	return c.do(ctx, http.MethodGet, path, "", nil, out)
}

// Create posts an object to the collection at path.
func (c *Client) Create(ctx context.Context, path string, object any) error {
	return c.do(ctx, http.MethodPost, path, "application/json", object, nil)
}

// Patch merges patch into the object at path.
func (c *Client) Patch(ctx context.Context, path string, patch any) error {
	return c.do(ctx, http.MethodPatch, path, "application/merge-patch+json", patch, nil)
}

// Delete deletes the object at path; options may be nil.
func (c *Client) Delete(ctx context.Context, path string, options any) error {
	return c.do(ctx, http.MethodDelete, path, "application/json", options, nil)
}

func (c *Client) do(ctx context.Context, method, path, contentType string, body, out any) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	response, err := c.send(ctx, method, path, contentType, body)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if out == nil {
		_, err = io.Copy(io.Discard, response.Body)
		return err
	}
	return json.NewDecoder(response.Body).Decode(out)
}

// send returns a successful answer; the caller closes its body.
func (c *Client) send(ctx context.Context, method, path, contentType string, body any) (*http.Response, error) {
	var content []byte
	if body != nil {
		var err error
		if content, err = json.Marshal(body); err != nil {
			return nil, err
		}
	}
	request, err := http.NewRequestWithContext(ctx, method, c.Server+path, bytes.NewReader(content))
	if err != nil {
		return nil, err
	}
	if contentType != "" {
		request.Header.Set("Content-Type", contentType)
	}
	if c.Token != "" {
		request.Header.Set("Authorization", "Bearer "+c.Token)
	}
	request.Header.Set("User-Agent", "standin")
	response, err := c.Transport.RoundTrip(request)
	if err != nil {
		return nil, err
	}
	if response.StatusCode < 300 {
		return response, nil
	}
	defer response.Body.Close()
	text, _ := io.ReadAll(io.LimitReader(response.Body, 64<<10))
	var status struct{ Message string }
	if json.Unmarshal(text, &status) != nil || status.Message == "" {
		status.Message = string(text)
	}
	return nil, &StatusError{Code: response.StatusCode, Message: status.Message}
}
