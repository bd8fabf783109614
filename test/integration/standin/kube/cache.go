package kube

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/url"
	"sync"
	"time"
)

const (
	watchSeconds = 300
	// A watch without an event or a bookmark for this long counts as broken.
	watchTimeout = (watchSeconds + 30) * time.Second
	retryDelay   = 500 * time.Millisecond
)

// Kind is an object type that a Cache can hold; it must have metadata.
type Kind[T any] interface {
	*T
	Meta() *Metadata
}

// Cache follows one resource in all namespaces.
type Cache[T any, P Kind[T]] struct {
	client *Client
	path   string
	notify func(object P, deleted bool)

	mu      sync.Mutex
	objects map[string]P // by Metadata.Key
	synced  chan struct{}
	once    sync.Once
}

// NewCache creates a cache of the resource at path. notify is called after each change, one call at a time; it must not block.
func NewCache[T any, P Kind[T]](client *Client, path string, notify func(object P, deleted bool)) *Cache[T, P] {
	return &Cache[T, P]{client: client, path: path, notify: notify, objects: map[string]P{}, synced: make(chan struct{})}
}

// Synced is closed after the first list.
func (c *Cache[T, P]) Synced() <-chan struct{} { return c.synced }

// Get returns the object, or nil. The caller must not change it.
func (c *Cache[T, P]) Get(namespace, name string) P {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.objects[namespace+"/"+name]
}

// In returns the objects of one namespace, unordered.
func (c *Cache[T, P]) In(namespace string) []P {
	c.mu.Lock()
	defer c.mu.Unlock()
	var found []P
	for _, object := range c.objects {
		if object.Meta().Namespace == namespace {
			found = append(found, object)
		}
	}
	return found
}

// Run follows the resource until ctx ends. It retries a resource that does not exist yet (its CRD is missing).
func (c *Cache[T, P]) Run(ctx context.Context) {
	version := ""
	for ctx.Err() == nil {
		var err error
		if version == "" {
			version, err = c.list(ctx)
		} else {
			version, err = c.watch(ctx, version)
		}
		if err == nil || ctx.Err() != nil {
			continue
		}
		slog.Debug("cache", "path", c.path, "error", err)
		select {
		case <-ctx.Done():
		case <-time.After(retryDelay):
		}
	}
}

func (c *Cache[T, P]) list(ctx context.Context) (string, error) {
	var list struct {
		Metadata struct{ ResourceVersion string }
		Items    []P
	}
	if err := c.client.Get(ctx, c.path, &list); err != nil {
		return "", err
	}
	seen := map[string]bool{}
	for _, object := range list.Items {
		seen[object.Meta().Key()] = true
		c.put(object)
	}
	for _, object := range c.missing(seen) {
		c.drop(object)
	}
	c.once.Do(func() { close(c.synced) })
	return list.Metadata.ResourceVersion, nil
}

func (c *Cache[T, P]) missing(seen map[string]bool) []P {
	c.mu.Lock()
	defer c.mu.Unlock()
	var gone []P
	for key, object := range c.objects {
		if !seen[key] {
			gone = append(gone, object)
		}
	}
	return gone
}

// watch returns the version to go on from; "" asks for a new list.
func (c *Cache[T, P]) watch(ctx context.Context, version string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, watchTimeout)
	defer cancel()
	query := url.Values{"watch": {"1"}, "allowWatchBookmarks": {"true"}, "resourceVersion": {version},
		"timeoutSeconds": {fmt.Sprint(watchSeconds)}}
	response, err := c.client.send(ctx, "GET", c.path+"?"+query.Encode(), "", nil)
	if err != nil {
		if Code(err) != 0 {
			version = ""
		}
		return version, err
	}
	defer response.Body.Close()
	for decoder := json.NewDecoder(response.Body); ; {
		var event struct {
			Type   string
			Object json.RawMessage
		}
		if decoder.Decode(&event) != nil {
			return version, nil // The server ends each watch after a while; go on from where it stopped.
		}
		if event.Type == "ERROR" {
			return "", fmt.Errorf("watch: %s", event.Object)
		}
		object := P(new(T))
		if err := json.Unmarshal(event.Object, object); err != nil {
			return "", err
		}
		version = object.Meta().ResourceVersion
		switch event.Type {
		case "ADDED", "MODIFIED":
			c.put(object)
		case "DELETED":
			c.drop(object)
		}
	}
}

func (c *Cache[T, P]) put(object P) {
	key := object.Meta().Key()
	c.mu.Lock()
	old := c.objects[key]
	c.objects[key] = object
	c.mu.Unlock()
	if old != nil && old.Meta().UID != object.Meta().UID {
		c.notify(old, true)
	}
	if old == nil || old.Meta().ResourceVersion != object.Meta().ResourceVersion {
		c.notify(object, false)
	}
}

func (c *Cache[T, P]) drop(object P) {
	c.mu.Lock()
	delete(c.objects, object.Meta().Key())
	c.mu.Unlock()
	c.notify(object, true)
}
