// Package java holds the simulator to a real Kafka by programs on Kafka's Java
// libraries: clients, Streams and Kafka's own tools, run unchanged on both.
//
// The programs are in programs/, each a class with a main method. A text in
// testdata/ runs them and the tools:
//
//	# What comes next, for the reader.
//	$ kafka-topics.sh --create --topic orders --partitions 3
//	Created topic orders.
//	$ Fencing
//	...
//
// Behind each command stands what a real Kafka 4.3.1 made it print, which the
// simulator must print too, line by line. Ids, times and the like are symbols
// there: see symbols. What comes after "status" is an exit status other than 0.
package java
