package property

import (
	"fmt"
	"strconv"
	"strings"
)

func (c *Config) resolve(name string) Entry { return c.describe([]string{name})[0] }

func (t TopicConfig) resolve(name string) Entry { return t.describe([]string{name})[0] }

func (c *Config) describe(names []string) []Entry { return nil }

func (t TopicConfig) describe(names []string) []Entry { return nil }

func parseInt(r Resource, name string, e Entry) int64 {
	n, err := strconv.ParseInt(e.Value, 10, 64)
	if err != nil {
		panic(fmt.Sprintf("property %s of resource %d is no number: %q", name, r, e.Value))
	}
	return n
}

func split(s string) []string {
	if s == "" {
		return nil
	}
	return strings.Split(s, ",")
}
