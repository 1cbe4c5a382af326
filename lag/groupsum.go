package lag

import "time"

// LSOLag is the sum over the group's topics. It is known only
// when all its parts are: commits that were not read are one, and a group
// without any commit has no lag.
func (g *GroupView) LSOLag() Optional[Count] {
	return g.sum(func(t *GroupTopicView) Optional[Count] { return t.LSOLag })
}

// HWMLag is like LSOLag, up to the high watermark.
func (g *GroupView) HWMLag() Optional[Count] {
	return g.sum(func(t *GroupTopicView) Optional[Count] { return t.HWMLag })
}

// sum adds up one lag of the group's topics.
func (g *GroupView) sum(lag func(*GroupTopicView) Optional[Count]) Optional[Count] {
	if len(g.Topics) == 0 {
		return Optional[Count]{}
	}
	sum := Known(Count(0))
	for i := range g.Topics {
		sum = plus(sum, lag(&g.Topics[i]))
	}
	return sum
}

// LSOLagFor is the maximum over the partitions of all the group's
// topics, as that of GroupTopicView over one's.
func (g *GroupView) LSOLagFor() Optional[time.Duration] { return g.oldest(lsoAge) }

// HWMLagFor is like LSOLagFor, up to the high watermark.
func (g *GroupView) HWMLagFor() Optional[time.Duration] { return g.oldest(hwmAge) }

// oldest is the greatest age over the group's partitions; see maxAge.
func (g *GroupView) oldest(age rowAge) Optional[time.Duration] {
	var o oldest
	for i := range g.Topics {
		o.add(g.Topics[i].Partitions, age)
	}
	return o.age()
}
