package scenario

import (
	"context"
	"fmt"

	"github.com/twmb/franz-go/pkg/kmsg"
)

func markerVerbs() []Verb {
	return []Verb{{
		Name:  "WriteTxnMarkers",
		Usage: "WriteTxnMarkers/v1|v2 C(P,epoch)|A(P,epoch) ce EPOCH PARTITION",
		Doc: "Writes a commit or abort marker at the partition's leader as a coordinator would, with coordinator epoch EPOCH (a number or CE1). " +
			"v2 carries transaction version 2, which makes the leader strict about the producer epoch (rule C7).",
		Parse: parseWriteTxnMarkers,
	}}
}

func parseWriteTxnMarkers(words []string) (Action, error) {
	args, err := parseArguments(words, "ce ", versionOption)
	if err != nil {
		return nil, err
	}
	if err := args.want(2, 2); err != nil {
		return nil, err
	}
	batches, err := parseBatches(args.position[0])
	if err != nil {
		return nil, err
	}
	if len(batches) != 1 || batches[0].kind != 'C' && batches[0].kind != 'A' {
		return nil, fmt.Errorf("%s is no marker", args.position[0])
	}
	ref, err := parsePartition(args.position[1])
	if err != nil {
		return nil, err
	}
	version, err := versionOf(args)
	if err != nil || version < 1 {
		return nil, fmt.Errorf("WriteTxnMarkers wants a version")
	}
	epoch, given := args.named["ce"]
	if !given {
		return nil, fmt.Errorf("a marker has a coordinator epoch")
	}
	c := writeMarker{version: version, batch: batches[0], epoch: epoch, partition: ref}
	return c.run, nil
}

type writeMarker struct {
	version   int16
	batch     batchRef
	epoch     string
	partition partitionRef
}

func (c writeMarker) run(ctx context.Context, p *Play) (string, error) {
	log, err := p.locate(ctx, c.partition)
	if err != nil {
		return "", err
	}
	m := kmsg.NewWriteTxnMarkersRequestMarker()
	if m.ProducerID, err = p.symbols.producerID(c.batch.producer.producer); err != nil {
		return "", err
	}
	if m.CoordinatorEpoch, err = p.symbols.epochOf(m.ProducerID, c.epoch); err != nil {
		return "", err
	}
	m.ProducerEpoch, m.Committed = c.batch.producer.epoch, c.batch.kind == 'C'
	if c.version >= 2 {
		m.TransactionVersion = 2
	}
	topic := kmsg.NewWriteTxnMarkersRequestMarkerTopic()
	topic.Topic, topic.Partitions = log.topic, []int32{log.partition}
	m.Topics = append(m.Topics, topic)
	req := kmsg.NewPtrWriteTxnMarkersRequest()
	req.Version, req.Markers = c.version, append(req.Markers, m)
	broker, refusal, err := p.target(ctx, log.topicPartition, "")
	if err != nil || refusal != "" {
		return refusal, err
	}
	resp, err := p.ask(ctx, broker, req)
	if err != nil {
		return "", err
	}
	return renderError(resp.(*kmsg.WriteTxnMarkersResponse).Markers[0].Topics[0].Partitions[0].ErrorCode), nil
}
