/* Reinforcement of PPL-ST's rules in plain C, on the same random numbers as
   ifthen.systems.ppl_st.reinforce_rules.

   How plain? Comparing every rule with the state in every step is the plainest code, but two savings come
   to mind at once and are taken here, so that the comparison does not flatter us: the rules that match a
   state are listed when the state is first met (conditions do not change while an individual learns), and
   a state's action is chosen once per rollout (what rules have learnt does not change while acting). There
   are no bit masks, no hand-written vector code and no fixed sizes. */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>

#include "splitmix.h"

#define NOT_LISTED -1
#define NOT_CHOSEN -2
#define NO_RULE -1

typedef struct {
    int64_t n_states, n_actions, n_outcomes, n_starts, n_features, n_rules, t_max, n_rollouts;
    double eta, x0, gamma;
    const int32_t *next_state; /* (states, actions, outcomes), negative where the episode ends */
    const double *reward;      /* (states, actions, outcomes) */
    const int32_t *starts;     /* (starts) */
    const int32_t *states;     /* (states, features) */
    const double *points;      /* (states, features), the same as floats */
    const double *cuts;        /* (outcomes), cumulative probabilities */
} Lesson;

typedef struct {
    const int32_t *bounds;  /* (rules, features, 2), in any order */
    const int32_t *actions; /* (rules) */
    double *learnt;         /* (rules, features + 2): w, then var */
    double *deviations;     /* (rules): sqrt(var) as the rollout began */
    int32_t *n_matching;    /* (states), or NOT_LISTED */
    int32_t *matching;      /* (states, rules), the first n_matching of each row in use */
    int32_t *chosen;        /* (states): the action in this rollout, NO_RULE or NOT_CHOSEN */
} Individual;

typedef struct {
    int32_t state, action;
    double reward;
} Step;

static int matches(const int32_t *bounds, const int32_t *state, int64_t n_features)
{
    for (int64_t d = 0; d < n_features; d++) {
        int32_t a = bounds[2 * d], b = bounds[2 * d + 1];
        if (state[d] < (a < b ? a : b) || state[d] > (a < b ? b : a))
            return 0;
    }
    return 1;
}

static double predict(const Lesson *l, const double *learnt, const double *point)
{
    double sum = learnt[0] * l->x0;
    for (int64_t d = 0; d < l->n_features; d++)
        sum += learnt[d + 1] * point[d];
    return sum;
}

static void list_matching(const Lesson *l, Individual *own, int64_t s)
{
    int32_t *list = own->matching + s * l->n_rules, n = 0;
    for (int64_t r = 0; r < l->n_rules; r++)
        if (matches(own->bounds + r * l->n_features * 2, l->states + s * l->n_features, l->n_features))
            list[n++] = (int32_t)r;
    own->n_matching[s] = n;
}

/* The action of the strongest matching rule, the lowest among equals. */
static int32_t choose(const Lesson *l, const Individual *own, int64_t s)
{
    int32_t best = NO_RULE;
    double top = -INFINITY;
    for (int32_t j = 0; j < own->n_matching[s]; j++) {
        int32_t r = own->matching[s * l->n_rules + j];
        double strength = predict(l, own->learnt + r * (l->n_features + 2), l->points + s * l->n_features)
                          - own->deviations[r];
        if (best < 0 || strength > top || (strength == top && own->actions[r] < best)) {
            best = own->actions[r];
            top = strength;
        }
    }
    return best;
}

/* Play one episode by the current rules; return its length. */
static int64_t act(const Lesson *l, Individual *own, uint64_t noise, Step *trajectory)
{
    int64_t s = l->starts[(int64_t)(uniform(noise, 0) * (double)l->n_starts)], length = 0;
    for (int64_t r = 0; r < l->n_rules; r++)
        own->deviations[r] = sqrt(own->learnt[r * (l->n_features + 2) + l->n_features + 1]);
    for (int64_t i = 0; i < l->n_states; i++)
        own->chosen[i] = NOT_CHOSEN;
    while (length < l->t_max && s >= 0) {
        if (own->n_matching[s] == NOT_LISTED)
            list_matching(l, own, s);
        if (own->chosen[s] == NOT_CHOSEN)
            own->chosen[s] = choose(l, own, s);
        int32_t a = own->chosen[s];
        if (a == NO_RULE)
            break;
        int k = outcome(noise, l->cuts, (int)l->n_outcomes, (uint64_t)length + 1);
        int64_t at = (s * l->n_actions + a) * l->n_outcomes + k;
        trajectory[length++] = (Step){(int32_t)s, a, l->reward[at]};
        s = l->next_state[at];
    }
    return length;
}

/* Move w and var of every rule in the action set of one step towards the payoff. */
static void update(const Lesson *l, Individual *own, const Step *step, double payoff)
{
    const double *point = l->points + step->state * l->n_features;
    double norm = l->x0 * l->x0;
    for (int64_t d = 0; d < l->n_features; d++)
        norm += point[d] * point[d];
    double rate = l->eta / norm;
    for (int32_t j = 0; j < own->n_matching[step->state]; j++) {
        int32_t r = own->matching[step->state * l->n_rules + j];
        if (own->actions[r] != step->action)
            continue;
        double *learnt = own->learnt + r * (l->n_features + 2), *var = learnt + l->n_features + 1;
        double error = payoff - predict(l, learnt, point), left = (1 - l->eta) * error;
        learnt[0] += rate * error * l->x0;
        for (int64_t d = 0; d < l->n_features; d++)
            learnt[d + 1] += rate * error * point[d];
        *var = (1 - l->eta) * *var + l->eta * left * left;
    }
}

static int64_t reinforce(const Lesson *l, Individual *own, uint64_t key, Step *trajectory)
{
    int64_t steps = 0;
    for (int64_t s = 0; s < l->n_states; s++)
        own->n_matching[s] = NOT_LISTED;
    for (int64_t rollout = 0; rollout < l->n_rollouts; rollout++) {
        int64_t length = act(l, own, fold(key, (uint64_t)rollout), trajectory);
        double payoff = 0.0;
        for (int64_t t = length - 1; t >= 0; t--) {
            payoff = trajectory[t].reward + l->gamma * payoff;
            update(l, own, &trajectory[t], payoff);
        }
        steps += length;
    }
    return steps;
}

/* Let n individuals learn, and write the steps each of them took. */
void reinforce_all(const Lesson *l, int64_t n, uint64_t key, const int32_t *bounds, const int32_t *actions,
                   double *learnt, int64_t *steps)
{
    Individual own = {
        .deviations = malloc(sizeof(double) * l->n_rules),
        .n_matching = malloc(sizeof(int32_t) * l->n_states),
        .matching = malloc(sizeof(int32_t) * l->n_states * l->n_rules),
        .chosen = malloc(sizeof(int32_t) * l->n_states),
    };
    Step *trajectory = malloc(sizeof *trajectory * l->t_max);
    for (int64_t i = 0; i < n; i++) {
        own.bounds = bounds + i * l->n_rules * l->n_features * 2;
        own.actions = actions + i * l->n_rules;
        own.learnt = learnt + i * l->n_rules * (l->n_features + 2);
        steps[i] = reinforce(l, &own, fold(key, (uint64_t)i), trajectory);
    }
    free(own.deviations);
    free(own.n_matching);
    free(own.matching);
    free(own.chosen);
    free(trajectory);
}
