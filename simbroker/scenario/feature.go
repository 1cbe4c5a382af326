package scenario

import (
	"context"
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// Ways that UpdateFeatures goes (KIP-584).
const (
	upgrade       = 1
	safeDowngrade = 2
)

// setFeature finalises a feature at a level, if it is at another one, and waits
// until every broker says so.
func (p *Play) setFeature(ctx context.Context, name string, level int16) error {
	before := p.features[name]
	if before == level {
		return nil
	}
	broker, err := p.anyBroker()
	if err != nil {
		return err
	}
	req := kmsg.NewPtrUpdateFeaturesRequest()
	if _, known := p.offered[req.Key()]; !known {
		return fmt.Errorf("%w: UpdateFeatures", ErrNotOffered)
	}
	req.Version, req.TimeoutMillis = p.version(req.Key(), -1), int32(prepareWithin.Milliseconds())
	update := kmsg.NewUpdateFeaturesRequestFeatureUpdate()
	update.Feature, update.MaxVersionLevel, update.UpgradeType = name, level, upgrade
	if level < before {
		update.UpgradeType, update.AllowDowngrade = safeDowngrade, true
	}
	req.FeatureUpdates = append(req.FeatureUpdates, update)
	resp, err := p.ask(ctx, broker, req)
	if err != nil {
		return err
	}
	got := resp.(*kmsg.UpdateFeaturesResponse)
	if got.ErrorCode != 0 {
		return errors.New(p.refused(got.ErrorCode, got.ErrorMessage))
	}
	for _, r := range got.Results {
		if r.ErrorCode != 0 {
			return errors.New(p.refused(r.ErrorCode, r.ErrorMessage))
		}
	}
	if _, changed := p.levels[name]; !changed {
		p.levels[name] = before
	}
	return p.awaitFeature(ctx, name, level)
}

// awaitFeature waits until every broker has a feature at a level.
func (p *Play) awaitFeature(ctx context.Context, name string, level int16) error {
	for _, broker := range p.brokers {
		err := p.until(ctx, fmt.Sprintf("set %s=%d at broker %d", name, level, broker), func() (bool, error) {
			err := p.learnVersionsAt(ctx, broker)
			return p.features[name] == level, err
		})
		if err != nil {
			return err
		}
	}
	return nil
}
