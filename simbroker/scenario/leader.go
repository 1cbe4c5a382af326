package scenario

import (
	"context"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// target is where to send a request about a partition: the named broker, or the
// leader that the metadata names. Without a leader the refusal says so.
func (p *Play) target(ctx context.Context, tp topicPartition, at string) (broker int32, refusal string, err error) {
	if at != "" {
		broker, err = p.broker(at)
		return broker, "", err
	}
	part, refusal, err := p.partitionMetadata(ctx, tp)
	if err != nil || refusal != "" {
		return 0, refusal, err
	}
	if part.Leader < 0 {
		return 0, renderError(kerr.LeaderNotAvailable.Code), nil
	}
	return part.Leader, "", nil
}

func (p *Play) partitionMetadata(ctx context.Context, tp topicPartition) (part kmsg.MetadataResponseTopicPartition, refusal string, err error) {
	from, err := p.anyBroker()
	if err != nil {
		return part, "", err
	}
	meta, err := p.metadata(ctx, from, tp.topic)
	if err != nil {
		return part, "", err
	}
	if code := meta.Topics[0].ErrorCode; code != 0 {
		return part, renderError(code), nil
	}
	for _, part := range meta.Topics[0].Partitions {
		if part.Partition == tp.partition {
			return part, "", nil
		}
	}
	return part, renderError(kerr.UnknownTopicOrPartition.Code), nil
}

// metadata asks one broker for topics, or for none.
func (p *Play) metadata(ctx context.Context, broker int32, topics ...string) (*kmsg.MetadataResponse, error) {
	req := kmsg.NewPtrMetadataRequest()
	req.Version, req.AllowAutoTopicCreation = p.version(req.Key(), -1), false
	req.Topics = []kmsg.MetadataRequestTopic{}
	for _, topic := range topics {
		t := kmsg.NewMetadataRequestTopic()
		t.Topic = kmsg.StringPtr(topic)
		req.Topics = append(req.Topics, t)
	}
	resp, err := p.lookUp(ctx, broker, req)
	if err != nil {
		return nil, err
	}
	return resp.(*kmsg.MetadataResponse), nil
}
