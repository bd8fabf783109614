package kube

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// Metadata is the part of an object's metadata that the stand-in reads.
type Metadata struct {
	Name                       string            `json:"name,omitempty"`
	Namespace                  string            `json:"namespace,omitempty"`
	UID                        string            `json:"uid,omitempty"`
	ResourceVersion            string            `json:"resourceVersion,omitempty"`
	Labels                     map[string]string `json:"labels,omitempty"`
	Annotations                map[string]string `json:"annotations,omitempty"`
	Finalizers                 []string          `json:"finalizers,omitempty"`
	CreationTimestamp          time.Time         `json:"creationTimestamp,omitzero"`
	DeletionTimestamp          *time.Time        `json:"deletionTimestamp,omitempty"`
	DeletionGracePeriodSeconds *int64            `json:"deletionGracePeriodSeconds,omitempty"`
}

// Object is any object with only its metadata.
type Object struct {
	Metadata Metadata `json:"metadata"`
}

// Meta returns the object's metadata.
func (o *Object) Meta() *Metadata { return &o.Metadata }

// Key is the object's namespace and name.
func (m *Metadata) Key() string { return m.Namespace + "/" + m.Name }

// Pod is the part of a Pod that the stand-in plays.
type Pod struct {
	Object
	Spec   PodSpec   `json:"spec"`
	Status PodStatus `json:"status"`
}

// DNSName is the Pod's name under its headless Service, without the cluster's domain; "" if it has none.
func (p *Pod) DNSName() string {
	if p.Spec.Subdomain == "" {
		return ""
	}
	host := cmp.Or(p.Spec.Hostname, p.Metadata.Name)
	return strings.ToLower(fmt.Sprintf("%s.%s.%s.svc", host, p.Spec.Subdomain, p.Metadata.Namespace))
}

// PodSpec is a Pod's specification.
type PodSpec struct {
	NodeName      string      `json:"nodeName,omitempty"`
	Hostname      string      `json:"hostname,omitempty"`
	Subdomain     string      `json:"subdomain,omitempty"`
	RestartPolicy string      `json:"restartPolicy,omitempty"`
	Containers    []Container `json:"containers"`
	Volumes       []Volume    `json:"volumes,omitempty"`
}

// Container is a container of a Pod.
type Container struct {
	Name           string        `json:"name"`
	Image          string        `json:"image"`
	Command        []string      `json:"command,omitempty"`
	Args           []string      `json:"args,omitempty"`
	Env            []Variable    `json:"env,omitempty"`
	Ports          []Port        `json:"ports,omitempty"`
	VolumeMounts   []VolumeMount `json:"volumeMounts,omitempty"`
	StartupProbe   *Probe        `json:"startupProbe,omitempty"`
	ReadinessProbe *Probe        `json:"readinessProbe,omitempty"`
	LivenessProbe  *Probe        `json:"livenessProbe,omitempty"`

	TerminationMessagePolicy string `json:"terminationMessagePolicy,omitempty"`
}

// Variable is an environment variable of a container, with its own value or that of a Secret's key.
type Variable struct {
	Name      string `json:"name"`
	Value     string `json:"value,omitempty"`
	ValueFrom *struct {
		Secret *SecretKey `json:"secretKeyRef,omitempty"`
	} `json:"valueFrom,omitempty"`
}

// SecretKey names a key of a Secret in the same namespace.
type SecretKey struct {
	Name     string `json:"name"`
	Key      string `json:"key"`
	Optional bool   `json:"optional,omitempty"`
}

// Port is a container's named port.
type Port struct {
	Name          string `json:"name"`
	ContainerPort int    `json:"containerPort"`
}

// VolumeMount says where a volume appears in a container.
type VolumeMount struct {
	Name      string `json:"name"`
	MountPath string `json:"mountPath"`
}

// Volume is a Pod's volume.
type Volume struct {
	Name string `json:"name"`
	PVC  *struct {
		ClaimName string `json:"claimName"`
	} `json:"persistentVolumeClaim,omitempty"`
	Secret *SecretVolume `json:"secret,omitempty"`
}

// SecretVolume is a volume with the keys of a Secret as files: all of them, or only the items.
type SecretVolume struct {
	SecretName string `json:"secretName"`
	Items      []struct {
		Key  string `json:"key"`
		Path string `json:"path"`
	} `json:"items,omitempty"`
	Optional bool `json:"optional,omitempty"`
}

// Secret is a Secret.
type Secret struct {
	Object
	Type string            `json:"type,omitempty"`
	Data map[string][]byte `json:"data"`
}

// Probe is a container's probe; times are in seconds.
type Probe struct {
	HTTPGet *struct {
		Path   string          `json:"path"`
		Port   json.RawMessage `json:"port"`
		Scheme string          `json:"scheme"`
	} `json:"httpGet,omitempty"`
	TCPSocket *struct {
		Port json.RawMessage `json:"port"`
	} `json:"tcpSocket,omitempty"`
	InitialDelaySeconds int `json:"initialDelaySeconds"`
	PeriodSeconds       int `json:"periodSeconds"`
	TimeoutSeconds      int `json:"timeoutSeconds"`
	SuccessThreshold    int `json:"successThreshold"`
	FailureThreshold    int `json:"failureThreshold"`
}

// PodStatus is what a kubelet reports.
type PodStatus struct {
	Phase             string            `json:"phase,omitempty"`
	Reason            string            `json:"reason,omitempty"`
	Message           string            `json:"message,omitempty"`
	HostIP            string            `json:"hostIP,omitempty"`
	PodIP             string            `json:"podIP,omitempty"`
	PodIPs            []PodIP           `json:"podIPs,omitempty"`
	StartTime         *time.Time        `json:"startTime,omitempty"`
	Conditions        []Condition       `json:"conditions,omitempty"`
	ContainerStatuses []ContainerStatus `json:"containerStatuses,omitempty"`
}

// PodIP is one address of a Pod.
type PodIP struct {
	IP string `json:"ip"`
}

// Condition is a condition of any object.
type Condition struct {
	Type               string    `json:"type"`
	Status             string    `json:"status"`
	Reason             string    `json:"reason,omitempty"`
	Message            string    `json:"message,omitempty"`
	LastTransitionTime time.Time `json:"lastTransitionTime,omitzero"`
}

// ContainerStatus is the state of one container.
type ContainerStatus struct {
	Name         string         `json:"name"`
	Image        string         `json:"image"`
	ImageID      string         `json:"imageID"`
	ContainerID  string         `json:"containerID,omitempty"`
	Ready        bool           `json:"ready"`
	Started      bool           `json:"started"`
	RestartCount int            `json:"restartCount"`
	State        ContainerState `json:"state"`
	LastState    ContainerState `json:"lastState"`
}

// ContainerState has one field set. The others are sent as null, so that a merge patch removes the previous state.
type ContainerState struct {
	Waiting    *Waiting    `json:"waiting"`
	Running    *Running    `json:"running"`
	Terminated *Terminated `json:"terminated"`
}

// Waiting says why a container does not run yet.
type Waiting struct {
	Reason  string `json:"reason"`
	Message string `json:"message,omitempty"`
}

// Running says since when a container runs.
type Running struct {
	StartedAt time.Time `json:"startedAt"`
}

// Terminated says how a container ended.
type Terminated struct {
	ExitCode   int       `json:"exitCode"`
	Signal     int       `json:"signal,omitempty"`
	Reason     string    `json:"reason"`
	Message    string    `json:"message,omitempty"`
	StartedAt  time.Time `json:"startedAt"`
	FinishedAt time.Time `json:"finishedAt"`
}

// PVC is a PersistentVolumeClaim.
type PVC struct {
	Object
	Spec struct {
		StorageClassName *string `json:"storageClassName"`
		Resources        struct {
			Requests map[string]string `json:"requests"`
		} `json:"resources"`
	} `json:"spec"`
	Status struct {
		Phase string `json:"phase"`
	} `json:"status"`
}

// EtcdCluster is the part of an EtcdCluster that the tests read.
type EtcdCluster struct {
	Object
	Spec struct {
		Replicas int    `json:"replicas"`
		Version  string `json:"version"`
		TLS      struct {
			Client *ClientTLS `json:"client"`
			Peer   *PeerTLS   `json:"peer"`
		} `json:"tls"`
		Auth struct {
			Enabled bool `json:"enabled"`
			Root    *Ref `json:"rootCredentialsSecretRef"`
		} `json:"auth"`
	} `json:"spec"`
	Status struct {
		ReadyMembers int         `json:"readyMembers"`
		ClusterID    string      `json:"clusterID"`
		AuthEnabled  bool        `json:"authEnabled"`
		Conditions   []Condition `json:"conditions"`
	} `json:"status"`
}

// Ref names an object in the same namespace.
type Ref struct {
	Name string `json:"name"`
}

// ClientTLS is the source of the client port's certificates.
type ClientTLS struct {
	Server      *Ref `json:"serverSecretRef"`
	Operator    *Ref `json:"operatorClientSecretRef"`
	CertManager *struct {
		OperatorIssuer *Ref `json:"operatorClientIssuerRef"`
	} `json:"certManager"`
	OperatorManaged Choice `json:"operatorManaged"`
}

// PeerTLS is the source of the peer port's certificate.
type PeerTLS struct {
	Secret          *Ref      `json:"secretRef"`
	CertManager     *struct{} `json:"certManager"`
	OperatorManaged Choice    `json:"operatorManaged"`
}

// Choice is a part of a spec whose presence counts, whatever its value; but false means no.
type Choice bool

// UnmarshalJSON reads anything.
func (c *Choice) UnmarshalJSON(text []byte) error {
	*c = string(text) != "null" && string(text) != "false"
	return nil
}

// Secrets names the Secrets of a cluster; each is "" if the spec asks for none.
type Secrets struct {
	Server, Operator, Peer, Root string
	// OperatorIfMade says that the maker of the Secrets decides whether the operator's exists.
	OperatorIfMade bool
}

// Secrets returns the names of the cluster's Secrets: those of its spec, or the contract's if cert-manager or the operator makes
// them.
func (c *EtcdCluster) Secrets() Secrets {
	var s Secrets
	name := c.Metadata.Name
	if client := c.Spec.TLS.Client; client != nil {
		s.Server = nameOr(client.Server, name+"-server-tls")
		switch {
		case client.Operator != nil:
			s.Operator = client.Operator.Name
		case client.CertManager != nil && client.CertManager.OperatorIssuer != nil:
			s.Operator = name + "-operator-client-tls"
		case bool(client.OperatorManaged):
			s.Operator, s.OperatorIfMade = name+"-operator-client-tls", true
		}
	}
	if peer := c.Spec.TLS.Peer; peer != nil {
		s.Peer = nameOr(peer.Secret, name+"-peer-tls")
	}
	if c.Spec.Auth.Enabled && c.Spec.Auth.Root != nil {
		s.Root = c.Spec.Auth.Root.Name
	}
	return s
}

func nameOr(ref *Ref, otherwise string) string {
	if ref != nil {
		return ref.Name
	}
	return otherwise
}

// EtcdMember is the part of an EtcdMember that the tests read.
type EtcdMember struct {
	Object
	Spec struct {
		Bootstrap bool `json:"bootstrap"`
	} `json:"spec"`
	Status struct {
		Conditions []Condition `json:"conditions"`
	} `json:"status"`
}

// EtcdSnapshot is the part of an EtcdSnapshot that the tests read.
type EtcdSnapshot struct {
	Object
	Status struct {
		Phase    string `json:"phase"`
		Artifact struct {
			Size     int64  `json:"sizeBytes"`
			Checksum string `json:"checksum"`
		} `json:"artifact"`
		Conditions []Condition `json:"conditions"`
	} `json:"status"`
}

// Condition returns the status and reason of a condition, such as "True/QuorumHealthy", or "" if absent.
func (c *EtcdCluster) Condition(kind string) string {
	for _, condition := range c.Status.Conditions {
		if condition.Type == kind {
			return condition.Status + "/" + condition.Reason
		}
	}
	return ""
}

// Paths of collections. Namespaced splits the path of a whole resource at its last slash.
const (
	Pods         = "/api/v1/pods"
	PVCs         = "/api/v1/persistentvolumeclaims"
	AllSecrets   = "/api/v1/secrets"
	Services     = "/api/v1/services"
	PDBs         = "/apis/policy/v1/poddisruptionbudgets"
	EtcdClusters = "/apis/etcd-operator.cozystack.io/v1alpha2/etcdclusters"
	EtcdMembers  = "/apis/etcd-operator.cozystack.io/v1alpha2/etcdmembers"

	EtcdSnapshots = "/apis/etcd-operator.cozystack.io/v1alpha2/etcdsnapshots"
	Jobs          = "/apis/batch/v1/jobs"
)

// ClusterLabel names the EtcdCluster an object belongs to.
const ClusterLabel = "etcd-operator.cozystack.io/cluster"

// Namespaced returns the path of a resource in one namespace, or a path below it.
func Namespaced(resource, namespace string, below ...string) string {
	cut := strings.LastIndexByte(resource, '/')
	path := resource[:cut] + "/namespaces/" + namespace + resource[cut:]
	for _, part := range below {
		path += "/" + part
	}
	return path
}

// Path returns the path of an object, or a path below it.
func (m *Metadata) Path(resource string, below ...string) string {
	return Namespaced(resource, m.Namespace, append([]string{m.Name}, below...)...)
}
