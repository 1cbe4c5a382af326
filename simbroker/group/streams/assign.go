package streams

// assignTasks spreads tasks evenly over members and moves as few as it can.
func assignTasks(members []*member, has map[string]map[task]bool, tasks map[task]bool) map[string]map[task]bool {
	targets := make(map[string]map[task]bool)
	free := make(map[task]bool)
	for t := range tasks {
		free[t] = true
	}
	quota, extra := len(tasks)/max(len(members), 1), len(tasks)%max(len(members), 1)
	for _, m := range members {
		targets[m.id] = make(map[task]bool)
		limit := quota
		if extra > 0 && len(has[m.id]) > quota {
			limit++
			extra--
		}
		for _, t := range sortedTasks(has[m.id]) {
			if free[t] && len(targets[m.id]) < limit {
				targets[m.id][t] = true
				delete(free, t)
			}
		}
	}
	for _, t := range sortedTasks(free) {
		to := members[0]
		for _, m := range members {
			if len(targets[m.id]) < len(targets[to.id]) {
				to = m
			}
		}
		targets[to.id][t] = true
	}
	return targets
}
