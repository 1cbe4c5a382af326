package controller

import "github.com/lso-exporter/lso-exporter/simbroker/kafka"

func (i *Image) controller() kafka.BrokerID { return kafka.NoBroker }
func (i *Image) alive() []*Broker           { return nil }
func (i *Image) registered() []*Broker      { return nil }
func (i *Image) allTopics() []*Topic        { return i.sorted }
