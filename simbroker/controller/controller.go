// Package controller is the quorum controller of the simulated cluster: it owns
// the metadata (topics, partitions, replicas, ISR, ELR, leaders and their
// epochs, registered brokers, configurations, blocks of producer ids), elects
// leaders, and fences brokers that it does not hear from. What it decides is
// published as Updates, from which each broker keeps an Image of its own, a
// moment behind.
//
// The controller itself never fails and is never paused; a quorum of several,
// ACLs, quotas and delegation tokens are left out.
package controller
