package config

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// LagObjective is how far groups may be behind the last stable offset on a
// topic before an alert says so.
type LagObjective struct {
	// Groups matches the whole names of the groups that it is for; never nil.
	Groups *regexp.Regexp
	// Offsets is the greatest LSO lag; 0 for no such limit.
	Offsets int64
	// Age is the greatest age of the next unread record; 0 for no such limit.
	Age time.Duration
}

// Pattern is the expression for group names as it was written, without anchors.
func (o LagObjective) Pattern() string { return bare(o.Groups) }

// String is the objective as it is configured: expression, offsets and age with
// spaces between them, a limit that there is not as a dash.
func (o LagObjective) String() string {
	offsets, age := none, none
	if o.Offsets > 0 {
		offsets = strconv.FormatInt(o.Offsets, 10)
	}
	if o.Age > 0 {
		age = brief(o.Age)
	}
	return o.Pattern() + " " + offsets + " " + age
}

// none stands for a limit that there is not.
const none = "-"

// objectiveForm is what an objective looks like, for messages.
const objectiveForm = `a regular expression for groups, offsets and an age, such as "billing-.* 10000 5m", with - for no limit`

func parseObjective(text string) (LagObjective, error) {
	fields := strings.Fields(text)
	if len(fields) != 3 {
		return LagObjective{}, errors.New("is no objective; write " + objectiveForm)
	}
	var o LagObjective
	var err error
	if o.Groups, err = wholeName(fields[0]); err != nil {
		return o, err
	}
	if fields[1] != none {
		o.Offsets, err = strconv.ParseInt(fields[1], 10, 64)
		if err != nil || o.Offsets < 1 {
			return o, fmt.Errorf("has %s for offsets; write a number above 0, or - for no limit", quote(fields[1]))
		}
	}
	if fields[2] != none {
		o.Age, err = time.ParseDuration(fields[2])
		if err != nil || o.Age < time.Second {
			return o, fmt.Errorf("has %s for an age; write a number with its unit (s, m or h), at least 1s, or - for no limit", quote(fields[2]))
		}
	}
	return o, nil
}

// objectives declares a list of objectives, which may be empty.
func objectives(key, flag, help string, field func(*Config) *[]LagObjective) setting {
	return setting{
		key: key, flag: flag, help: help, kind: objectiveList,
		set: func(c *Config, texts []string) error {
			parsed := []LagObjective{}
			for _, text := range texts {
				o, err := parseObjective(text)
				if err != nil {
					return fmt.Errorf("has the entry %s, which %w", quote(text), err)
				}
				if slices.ContainsFunc(parsed, func(before LagObjective) bool { return before.Pattern() == o.Pattern() }) {
					return fmt.Errorf("has two entries for %s, of which the second would never count; remove one", cut(o.Pattern()))
				}
				parsed = append(parsed, o)
			}
			*field(c) = parsed
			return nil
		},
		get: func(c *Config) []string {
			texts := []string{}
			for _, o := range *field(c) {
				texts = append(texts, o.String())
			}
			return texts
		},
	}
}
