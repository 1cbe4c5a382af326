package wire

import (
	"fmt"
	"strings"

	"github.com/lso-exporter/lso-exporter/simbroker/controller"
	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
)

// maxTopicName is how long a topic's name may be.
const maxTopicName = 249

// checkTopicName is Kafka's Topic.validate.
func checkTopicName(name string) error {
	reason := ""
	switch {
	case name == "":
		reason = "the empty string is not allowed"
	case name == "." || name == "..":
		reason = fmt.Sprintf("'%s' is not allowed", name)
	case len(name) > maxTopicName:
		reason = fmt.Sprintf("the length of '%s' is longer than the max allowed length %d", name, maxTopicName)
	case strings.ContainsFunc(name, isNoTopicCharacter):
		reason = fmt.Sprintf("'%s' contains one or more characters other than ASCII alphanumerics, '.', '_' and '-'", name)
	default:
		return nil
	}
	return &controller.Refusal{Err: kafka.ErrInvalidTopicException, Message: "Topic name is invalid: " + reason}
}

func isNoTopicCharacter(r rune) bool {
	switch {
	case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '.', r == '_', r == '-':
		return false
	}
	return true
}

// topicName is the name of a topic that is given by name or by id.
func (c *call) topicName(name string, id kafka.TopicID, byID bool) (string, error) {
	if !byID {
		return name, nil
	}
	if t, ok := c.image().TopicByID(id); ok {
		return t.Name, nil
	}
	return "", kafka.ErrUnknownTopicID
}
