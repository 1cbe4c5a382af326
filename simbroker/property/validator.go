package property

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// The functions below check values that type, bounds and words do not describe.
// They are given the text without spaces around it.

// gzipLevel is CompressionType.GZIP's validator.
func gzipLevel(d *Definition, text string) *ValueError {
	if n, _ := strconv.Atoi(text); n != -1 && (n < 1 || n > 9) {
		return d.bad(text, "Value must be between 1 and 9 or equal to -1", "-1, or 1 to 9")
	}
	return nil
}

// compressionCodec is a type of compression by its number.
func compressionCodec(d *Definition, text string) *ValueError {
	if n, _ := strconv.Atoi(text); n < 0 || n > 4 {
		return d.refuse(text, "Unknown compression type id: "+text, "0 (none), 1 (gzip), 2 (snappy), 3 (lz4) or 4 (zstd)")
	}
	return nil
}

var throttledReplica = regexp.MustCompile(`^([0-9]+:[0-9]+)?$`)

// throttledReplicas is ThrottledReplicaListValidator.
func throttledReplicas(d *Definition, text string) *ValueError {
	elements := elementsOf(text)
	if len(elements) == 1 && elements[0] == "*" || !slices.ContainsFunc(elements, func(e string) bool { return !throttledReplica.MatchString(e) }) {
		return nil
	}
	return d.bad("["+strings.Join(elements, ", ")+"]",
		d.Name+" must be the literal '*' or a list of replicas in the following format: [partitionId]:[brokerId],[partitionId]:[brokerId],...",
		"*, or PARTITION:BROKER with commas between")
}

// isoDuration is what Java's Duration.parse reads, in capitals and without signs.
var isoDuration = regexp.MustCompile(`^P(\d+D)?(T(\d+H)?(\d+M)?(\d+(\.\d{0,9})?S)?)?$`)

// offsetReset is ShareGroupAutoOffsetResetStrategy's validator.
func offsetReset(d *Definition, text string) *ValueError {
	duration, by := strings.CutPrefix(text, "by_duration:")
	duration = strings.ToUpper(duration)
	if text == "earliest" || text == "latest" || by && isoDuration.MatchString(duration) && !strings.HasSuffix(duration, "P") && !strings.HasSuffix(duration, "T") {
		return nil
	}
	return d.bad(text, fmt.Sprintf("Invalid value `%s` for configuration %s. The value must be either 'earliest', 'latest' or of the format 'by_duration:<PnDTnHnMn.nS>'.", text, d.Name),
		"earliest, latest, or by_duration: and a time such as PT1H")
}

// assignors are the names of Kafka's own, and their classes.
func assignors(names ...string) func(d *Definition, text string) *ValueError {
	return func(d *Definition, text string) *ValueError {
		for _, e := range elementsOf(text) {
			if !slices.Contains(names, e) {
				return d.refuse(text, fmt.Sprintf("Class %s cannot be found", e), "some of "+strings.Join(names, ", "))
			}
		}
		return nil
	}
}

// classicProtocol is what group.coordinator.rebalance.protocols must have.
func classicProtocol(d *Definition, text string) *ValueError {
	if slices.Contains(elementsOf(text), "classic") {
		return nil
	}
	return d.refuse(text, "Disabling the 'classic' protocol is not supported.", "classic among them")
}

// connectionOverrides are host:number, with commas between.
func connectionOverrides(d *Definition, text string) *ValueError {
	const remedy = "HOST:CONNECTIONS, with commas between"
	for _, e := range elementsOf(text) {
		i := strings.LastIndexByte(e, ':')
		switch {
		case e == "":
		case i < 0:
			return d.refuse(text, fmt.Sprintf("Error parsing configuration property '%s': begin 0, end -1, length %d", d.Name, len(e)), remedy)
		default:
			if _, err := strconv.ParseInt(strings.TrimSpace(e[i+1:]), 10, 32); err != nil {
				return d.refuse(text, fmt.Sprintf("For input string: %q", strings.TrimSpace(e[i+1:])), remedy)
			}
		}
	}
	return nil
}

// notEmptyText is a NonEmptyString.
func notEmptyText(d *Definition, text string) *ValueError {
	if text == "" {
		return d.bad(text, "String must be non-empty", "a name")
	}
	return nil
}
