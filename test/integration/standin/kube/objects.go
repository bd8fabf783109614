package kube

import (
	"encoding/json"
	"strings"
	"time"
)

// Metadata is what the stand-in looks at in any object's metadata.
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

// Object is an object of which only the metadata matters.
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
	Ports          []Port        `json:"ports,omitempty"`
	VolumeMounts   []VolumeMount `json:"volumeMounts,omitempty"`
	StartupProbe   *Probe        `json:"startupProbe,omitempty"`
	ReadinessProbe *Probe        `json:"readinessProbe,omitempty"`
	LivenessProbe  *Probe        `json:"livenessProbe,omitempty"`
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

// ContainerState has one field set. The others are sent as null, so that a merge patch takes the previous state away.
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

// EtcdCluster is what the tests look at in an EtcdCluster.
type EtcdCluster struct {
	Object
	Spec struct {
		Replicas int    `json:"replicas"`
		Version  string `json:"version"`
	} `json:"spec"`
	Status struct {
		ReadyMembers int         `json:"readyMembers"`
		ClusterID    string      `json:"clusterID"`
		Conditions   []Condition `json:"conditions"`
	} `json:"status"`
}

// EtcdMember is what the tests look at in an EtcdMember.
type EtcdMember struct {
	Object
	Spec struct {
		Bootstrap bool `json:"bootstrap"`
	} `json:"spec"`
	Status struct {
		Conditions []Condition `json:"conditions"`
	} `json:"status"`
}

// Condition returns the status and reason of a condition, as "True/QuorumHealthy", or "" when it is not there.
func (c *EtcdCluster) Condition(kind string) string {
	for _, condition := range c.Status.Conditions {
		if condition.Type == kind {
			return condition.Status + "/" + condition.Reason
		}
	}
	return ""
}

// Paths of collections. Namespaced takes the path of a whole resource apart at its last slash.
const (
	Pods         = "/api/v1/pods"
	PVCs         = "/api/v1/persistentvolumeclaims"
	Services     = "/api/v1/services"
	PDBs         = "/apis/policy/v1/poddisruptionbudgets"
	EtcdClusters = "/apis/etcd-operator.cozystack.io/v1alpha2/etcdclusters"
	EtcdMembers  = "/apis/etcd-operator.cozystack.io/v1alpha2/etcdmembers"
)

// ClusterLabel names the EtcdCluster an object belongs to.
const ClusterLabel = "etcd-operator.cozystack.io/cluster"

// Namespaced returns the path of a resource in one namespace, and below it.
func Namespaced(resource, namespace string, below ...string) string {
	cut := strings.LastIndexByte(resource, '/')
	path := resource[:cut] + "/namespaces/" + namespace + resource[cut:]
	for _, part := range below {
		path += "/" + part
	}
	return path
}

// Path returns the path of an object, and below it.
func (m *Metadata) Path(resource string, below ...string) string {
	return Namespaced(resource, m.Namespace, append([]string{m.Name}, below...)...)
}
