package wire

// Operation is an ACL operation, by Kafka's name.
type Operation string

// The operations that handlers ask for. Kafka's implications (READ and WRITE
// allow DESCRIBE) are the Authorizer's.
const (
	Read            Operation = "READ"
	Write           Operation = "WRITE"
	Create          Operation = "CREATE"
	Delete          Operation = "DELETE"
	Alter           Operation = "ALTER"
	Describe        Operation = "DESCRIBE"
	ClusterAction   Operation = "CLUSTER_ACTION"
	DescribeConfigs Operation = "DESCRIBE_CONFIGS"
	AlterConfigs    Operation = "ALTER_CONFIGS"
	IdempotentWrite Operation = "IDEMPOTENT_WRITE"
)

// ResourceType is the kind of thing that a right is about, by Kafka's name.
type ResourceType string

// The kinds of resource.
const (
	TopicResource           ResourceType = "TOPIC"
	GroupResource           ResourceType = "GROUP"
	TransactionalIDResource ResourceType = "TRANSACTIONAL_ID"
	ClusterResource         ResourceType = "CLUSTER"
)

// ClusterResourceName is the name of the one resource of type CLUSTER.
const ClusterResourceName = "kafka-cluster"

// Authorizer decides whether the user of a connection may do op with a
// resource. It must answer at once and must not change anything.
type Authorizer interface {
	Authorize(conn ConnInfo, op Operation, kind ResourceType, name string) bool
}
