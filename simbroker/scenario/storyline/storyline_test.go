package storyline

import (
	"slices"
	"testing"
	"time"
)

// Every application works on topics that are created, and every chapter is about
// one of them.
func TestTopicsOfStory(t *testing.T) {
	s := Of(3, []string{"localhost:9092"})
	named := []string{s.Invoicing.From, s.Invoicing.To, s.Mailer.Topic, s.CarrierSync.Topic, s.LedgerImport.Topic, s.Settlement.Slow.Topic, s.Settlement.Fast.Topic, s.Refunds.Reading.Topic, s.Held.Topic}
	for _, p := range s.Producers {
		named = append(named, p.Topic)
	}
	for _, c := range s.Consumers {
		named = append(named, c.Topic)
	}
	for _, c := range Chapters {
		named = append(named, c.Topic)
	}
	for _, name := range named {
		if !slices.ContainsFunc(s.Topics, func(topic Topic) bool { return topic.Name == name }) {
			t.Errorf("the story names topic %q, which it does not create", name)
		}
	}
	for _, topic := range s.Topics {
		if !slices.Contains(named, topic.Name) {
			t.Errorf("topic %s is created, and nobody works on it", topic.Name)
		}
	}
}

// A smaller cluster has as many replicas as there is room for, and a follower of
// audit as soon as there are two brokers. It must not leave the ISR when it is held.
func TestStoryFitsItsCluster(t *testing.T) {
	for brokers := 1; brokers <= 4; brokers++ {
		s := Of(brokers, nil)
		for _, topic := range s.Topics {
			want := min(brokers, 3)
			if topic.Name == s.Held.Topic {
				want = min(brokers, 2)
			}
			if topic.Replicas != want {
				t.Errorf("of %d brokers, %s has %d replicas, want %d", brokers, topic.Name, topic.Replicas, want)
			}
		}
		if lag := 30 * time.Second; s.Held.Standing >= lag {
			t.Errorf("followers are held for %v, want less than Kafka's replica.lag.time.max.ms, %v", s.Held.Standing, lag)
		}
	}
}
