/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How hot an object is: each read adds to its score, and a minute leaves only a part of it. It is kept as it was
 * at the last read (read_s) and brought up to date when somebody looks. Reads that happen at once may count as
 * one: it is an estimate, and no lock is worth it.
 */
#ifndef NS_SCORE_H
#define NS_SCORE_H

#include <math.h>
#include <stdint.h>

/* So that products with bytes stay numbers. */
#define NS_SCORE_MAX 1e24f

/* Of one store. */
struct ns_score_rules {
	float increment;      /* of a read; 0 = no scores are kept */
	float decay_a_second; /* log2 of what a second leaves, < 0 */
};

static inline struct ns_score_rules ns_score_rules_make(double increment, double decay)
{
	return (struct ns_score_rules){
		.increment = increment < (double)NS_SCORE_MAX ? (float)increment : NS_SCORE_MAX,
		.decay_a_second = (float)(log2(decay) / 60),
	};
}

/* What is left of it after so many seconds. */
static inline float ns_score_after(const struct ns_score_rules *rules, float score,
                                   uint32_t seconds)
{
	if (seconds == 0 || score == 0)
		return score;
	return score * exp2f(rules->decay_a_second * (float)seconds);
}

/* At @now_s. Of one that is not linked yet (0): what it begins with. */
static inline float ns_score_at(const struct ns_score_rules *rules, float score, uint32_t read_s,
                                uint32_t now_s)
{
	if (read_s == 0 || read_s >= now_s)
		return score;
	return ns_score_after(rules, score, now_s - read_s);
}

#endif
