package controller

import (
	"maps"

	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
)

// eligibleLeaderReplicas is the feature behind ELR (KIP-966).
const eligibleLeaderReplicas = "eligible.leader.replicas.version"

// DefaultFeatures are the levels that Kafka 4.3 finalises when it formats a new
// cluster (rule J4).
func DefaultFeatures() map[string]int16 {
	return map[string]int16{
		"metadata.version":     30,
		"transaction.version":  2,
		"group.version":        1,
		eligibleLeaderReplicas: 1,
		"kraft.version":        1,
		"share.version":        1,
		"streams.version":      1,
	}
}

// FeatureRange is the range of levels of a feature that there are.
type FeatureRange struct{ Min, Max int16 }

// SupportedFeatures returns the levels that nodes of Kafka 4.3 support (rule J4),
// by name.
func SupportedFeatures() map[string]FeatureRange {
	return map[string]FeatureRange{
		eligibleLeaderReplicas: {0, 1},
		"group.version":        {0, 1},
		"kraft.version":        {0, 1},
		metadataVersion:        {7, 30},
		"share.version":        {0, 1},
		"streams.version":      {0, 1},
		"transaction.version":  {0, 2},
	}
}

const metadataVersion = "metadata.version"

// usesELR says whether partitions have eligible leader replicas.
func (i *Image) usesELR() bool { return i.features.Levels[eligibleLeaderReplicas] > 0 }

// UpgradeType says which way a feature may go.
type UpgradeType int8

// The ways that there are, by Kafka's numbers.
const (
	Upgrade UpgradeType = iota + 1
	SafeDowngrade
	UnsafeDowngrade
)

// FeatureUpdate asks for another level of a feature.
type FeatureUpdate struct {
	Name  string
	Level int16
	Type  UpgradeType
}

// featureControl changes features.
type featureControl struct {
	*metadata
	supported map[string]FeatureRange
}

// Support says which levels the nodes support, instead of SupportedFeatures.
func (c *featureControl) Support(ranges map[string]FeatureRange) { c.supported = ranges }

// UpdateFeatures finalises other levels, all or none (KIP-584, KIP-1022). Error:
// ErrInvalidUpdateVersion, as a *Refusal.
func (c *featureControl) UpdateFeatures(updates []FeatureUpdate, validateOnly bool) error {
	levels := maps.Clone(c.image.features.Levels)
	for _, u := range updates {
		if err := c.checkFeature(u); err != nil {
			return err
		}
		if levels[u.Name] = u.Level; u.Level == 0 {
			delete(levels, u.Name)
		}
	}
	if validateOnly || maps.Equal(levels, c.image.features.Levels) {
		return nil
	}
	c.setFeatures(levels)
	c.commit()
	return nil
}

func (c *featureControl) checkFeature(u FeatureUpdate) error {
	fail := func(format string, args ...any) error {
		const prefix = "The update failed for all features since the following feature had an error: "
		return refuse(kafka.ErrInvalidUpdateVersion, prefix+format, args...)
	}
	invalid := func(why string) error {
		return fail("Invalid update version %d for feature %s. %s", u.Level, u.Name, why)
	}
	supported, known := c.supported[u.Name]
	now := c.image.features.Levels[u.Name]
	switch {
	case u.Type < Upgrade || u.Type > UnsafeDowngrade:
		return invalid("The controller does not support the given upgrade type.")
	case u.Level < 0:
		return invalid("A feature version cannot be less than 0.")
	case !known:
		return invalid("Local controller 0 does not support this feature.")
	case u.Level < supported.Min || u.Level > supported.Max:
		return fail("Invalid update version %d for feature %s. Local controller 0 only supports versions %d-%d", u.Level, u.Name, supported.Min, supported.Max)
	case u.Level >= now:
		return nil
	case u.Type == Upgrade:
		return invalid("Can't downgrade the version of this feature without setting the upgrade type to either safe or unsafe downgrade.")
	case u.Name == metadataVersion && u.Type == UnsafeDowngrade:
		return fail("Unsupported metadata.version downgrade from %d to %d. Unsafe metadata downgrade is not supported in this version.", now, u.Level)
	case u.Name == metadataVersion:
		return fail("Unsupported metadata.version downgrade from %d to %d. Refusing to perform the requested downgrade because it might delete metadata information.", now, u.Level)
	}
	return nil
}
