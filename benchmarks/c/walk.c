/* Sampled evaluation of policies in plain C: one table look-up per step.

   The same work as ifthen.simulate.table.play, without its devices: the outcomes are bytes drawn
   beforehand, one per step, and a policy's next states are one table (states, outcomes). In the models
   measured here reward comes only with the step that ends an episode, so it is looked up there alone. */
#include <stdint.h>
#include <stdlib.h>

#include "splitmix.h"

#define ENDED -1
#define NO_RULE -2

typedef struct {
    int64_t n_states, n_actions, n_outcomes, n_starts, n_episodes, t_max;
    const int32_t *next_state; /* (states, actions, outcomes), ENDED where the episode ends */
    const double *reward;      /* (states, actions, outcomes) */
    const int32_t *starts;     /* (episodes), the first n_starts of them all there are */
    const uint8_t *outcomes;   /* (episodes * t_max) */
    const double *discounts;   /* (t_max + 1) */
} Walk;

void draw_outcomes(uint64_t key, const double *cuts, int64_t n_outcomes, int64_t n, uint8_t *out)
{
    for (int64_t i = 0; i < n; i++)
        out[i] = (uint8_t)outcome(key, cuts, (int)n_outcomes, (uint64_t)i);
}

static void fill_table(const Walk *w, const int16_t *policy, int32_t *next, double *reward)
{
    for (int64_t s = 0; s < w->n_states; s++)
        for (int64_t k = 0; k < w->n_outcomes; k++) {
            int64_t from = (s * w->n_actions + policy[s]) * w->n_outcomes + k;
            next[s * w->n_outcomes + k] = policy[s] < 0 ? NO_RULE : w->next_state[from];
            reward[s * w->n_outcomes + k] = policy[s] < 0 ? 0.0 : w->reward[from];
        }
}

/* Play every episode; return whether a state without a rule was met. */
static int play(const Walk *w, const int32_t *next, const double *reward, int streamed, double *out_total,
                int64_t *out_steps)
{
    int64_t n_outcomes = w->n_outcomes, t_max = w->t_max, steps = 0;
    double total = 0.0;
    for (int64_t e = 0; e < w->n_episodes; e++) {
        const uint8_t *noise = w->outcomes + (streamed ? steps : e * t_max);
        int64_t s = w->starts[e], i = 0, t = 0;
        while (t < t_max && s >= 0) {
            i = s * n_outcomes + noise[t];
            s = next[i];
            t++;
        }
        if (s == NO_RULE)
            return 1;
        if (s == ENDED)
            total += w->discounts[t - 1] * reward[i];
        steps += t;
    }
    *out_total = total;
    *out_steps = steps;
    return 0;
}

/* Whether some episode starts in a state without a rule: such a policy need not be played. */
static int fails_at_once(const Walk *w, const int16_t *policy)
{
    for (int64_t e = 0; e < w->n_starts; e++)
        if (policy[w->starts[e]] < 0)
            return 1;
    return 0;
}

/* Evaluate n policies (n, states); a failed one has performance and steps 0. */
void walk_policies(const Walk *w, int64_t n, const int16_t *policies, int64_t streamed, double *performance,
                   int64_t *steps)
{
    int32_t *next = malloc(sizeof *next * w->n_states * w->n_outcomes);
    double *reward = malloc(sizeof *reward * w->n_states * w->n_outcomes);
    for (int64_t i = 0; i < n; i++) {
        const int16_t *policy = policies + i * w->n_states;
        performance[i] = 0.0;
        steps[i] = 0;
        if (fails_at_once(w, policy))
            continue;
        fill_table(w, policy, next, reward);
        if (!play(w, next, reward, streamed != 0, &performance[i], &steps[i]))
            performance[i] /= w->n_episodes;
    }
    free(next);
    free(reward);
}
