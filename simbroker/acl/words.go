package acl

// Operation is what somebody does with a resource, by Kafka's name.
type Operation string

// The operations. Any stands for all of them in a Filter, All in a Binding.
const (
	AnyOperation    Operation = "ANY"
	AllOperations   Operation = "ALL"
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
	CreateTokens    Operation = "CREATE_TOKENS"
	DescribeTokens  Operation = "DESCRIBE_TOKENS"
	TwoPhaseCommit  Operation = "TWO_PHASE_COMMIT"
)

// operations are those that a Binding may be about.
var operations = []Operation{
	AllOperations, Read, Write, Create, Delete, Alter, Describe, ClusterAction, DescribeConfigs, AlterConfigs,
	IdempotentWrite, CreateTokens, DescribeTokens, TwoPhaseCommit,
}

// ResourceType is the kind of thing that a right is about, by Kafka's name.
type ResourceType string

// The kinds of resource. Any stands for all of them in a Filter.
const (
	AnyResource     ResourceType = "ANY"
	Topic           ResourceType = "TOPIC"
	Group           ResourceType = "GROUP"
	Cluster         ResourceType = "CLUSTER"
	TransactionalID ResourceType = "TRANSACTIONAL_ID"
	DelegationToken ResourceType = "DELEGATION_TOKEN"
	User            ResourceType = "USER"
)

// ClusterName is the name of the one resource of type Cluster.
const ClusterName = "kafka-cluster"

// PatternType says how a pattern's name stands for resources (KIP-290).
type PatternType string

// The kinds of pattern. Any and Match are for filters: Any leaves the kind
// open, Match finds the patterns that apply to the resource of a name.
const (
	AnyPattern PatternType = "ANY"
	Match      PatternType = "MATCH"
	Literal    PatternType = "LITERAL"
	Prefixed   PatternType = "PREFIXED"
)

// Permission is what a Binding says of the operation.
type Permission string

// The permissions. Any stands for both in a Filter.
const (
	AnyPermission Permission = "ANY"
	Deny          Permission = "DENY"
	Allow         Permission = "ALLOW"
)

// Wildcard is the literal name that stands for every resource of a type, the
// host that stands for every host, and the user that stands for every user.
const Wildcard = "*"

// everybody is the principal of bindings that are about every user.
const everybody = "User:" + Wildcard

// supported are the operations that make sense on a resource of each type, in
// the order of Kafka's codes: what a client is told that it may do.
var supported = map[ResourceType][]Operation{
	Topic:           {Read, Write, Create, Delete, Alter, Describe, DescribeConfigs, AlterConfigs},
	Group:           {Read, Delete, Describe, DescribeConfigs, AlterConfigs},
	Cluster:         {Create, Alter, Describe, ClusterAction, DescribeConfigs, AlterConfigs, IdempotentWrite},
	TransactionalID: {Write, Describe, TwoPhaseCommit},
	DelegationToken: {Describe},
	User:            {CreateTokens, DescribeTokens},
}

// Supported lists the operations that make sense on a resource of a type. It
// must not be changed.
func Supported(kind ResourceType) []Operation { return supported[kind] }
