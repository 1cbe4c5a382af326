package scenario

import "fmt"

// Property is a broker or topic property by Kafka's name.
type Property struct{ Name, Value string }

// Feature is a feature of Kafka's by its name with the level at which it is
// finalised; 0 is not at all.
type Feature struct {
	Name  string
	Level int16
}

// Topic is a topic that a scenario asks for.
type Topic struct {
	Symbol     string   // T1, …
	Partitions int32    // at least 1
	Replicas   []string // broker letters, the first leads; the same for all partitions
	Configs    []Property
}

// Requirement is an API in a version, or a finalised feature at a level, that a
// scenario cannot do without.
type Requirement struct {
	Name  string // an API such as Produce, or a feature such as transaction.version
	Level int16
}

// String renders the requirement as it stands in the text.
func (r Requirement) String() string { return fmt.Sprintf("%s %d", r.Name, r.Level) }
