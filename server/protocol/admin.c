/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The admin port: GET /metrics and GET /healthz, over HTTP and for reading only.
 */
#include "dialect.h"
#include "http_answer.h"
#include "http_request.h"
#include "metrics.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static void *create(struct ns_session_context *context)
{
	(void)context;
	return calloc(1, sizeof(struct ns_http_request));
}

static void destroy(void *state, struct ns_session_context *context)
{
	(void)context;
	free(state);
}

/* ---- /metrics ---- */

/* Every pair of a node that serves and one that has an arena. -ENOMEM */
static int gather_served(const struct ns_server_state *state, struct ns_metrics_served **ret,
                         size_t *ret_count)
{
	size_t most = np_bitmap_count(&state->plan->serving_nodes) * state->arena_count;
	struct ns_metrics_served *served = calloc(most + 1, sizeof(*served));
	size_t count = 0;

	if (!served)
		return -ENOMEM;
	np_bitmap_for_each (serving, &state->plan->serving_nodes) {
		for (size_t i = 0; i < state->arena_count; i++) {
			unsigned memory = state->arenas[i].plan.node;

			served[count++] = (struct ns_metrics_served){
				.serving = serving,
				.memory = memory,
				.served = ns_store_served(state->store, serving, memory),
			};
		}
	}
	*ret = served;
	*ret_count = count;
	return 0;
}

static int gather_arenas(const struct ns_server_state *state, struct ns_arena_counts **ret,
                         size_t *ret_count)
{
	size_t count = ns_store_arena_count(state->store);
	struct ns_arena_counts *arenas = calloc(count + 1, sizeof(*arenas));

	if (!arenas)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		arenas[i] = ns_store_arena(state->store, i);
	*ret = arenas;
	*ret_count = count;
	return 0;
}

/* The caller frees *ret; NULL where there are none. */
static int gather_pools(const struct ns_server_state *state, struct ns_pool_state **ret,
                        size_t *ret_count)
{
	const struct ns_tails *tails = ns_store_tails(state->store);
	size_t count = tails ? ns_tails_pool_count(tails) : 0;

	if (count == 0)
		return 0;
	*ret = calloc(count, sizeof(**ret));
	if (!*ret)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		(*ret)[i] = ns_tails_pool(tails, i);
	*ret_count = count;
	return 0;
}

/* The text, which the caller frees. NULL: no memory. */
static char *print_page(const struct ns_metrics_page *page, size_t *ret_len)
{
	char *text = NULL;
	FILE *out = open_memstream(&text, ret_len);
	bool is_bad;

	if (!out)
		return NULL;
	ns_metrics_print(out, page);
	is_bad = ferror(out) != 0;
	if (fclose(out) != 0 || is_bad) {
		free(text);
		return NULL;
	}
	return text;
}

static char *write_metrics(const struct ns_server_state *state, size_t *ret_len)
{
	struct ns_metrics_page page = { .version = NUMAKIT_VERSION,
		                        .state = state,
		                        .is_draining = ns_state_is_draining(state) };
	struct ns_metrics_served *served = NULL;
	struct ns_arena_counts *arenas = NULL;
	struct ns_pool_state *pools = NULL;
	char *text = NULL;

	ns_store_count(state->store, &page.counts);
	ns_state_sum(state, &page.workers);
	if (gather_served(state, &served, &page.served_count) == 0 &&
	    gather_arenas(state, &arenas, &page.arena_count) == 0 &&
	    gather_pools(state, &pools, &page.pool_count) == 0) {
		page.served = served;
		page.arenas = arenas;
		page.pools = pools;
		page.engine = __atomic_load_n(&state->engine, __ATOMIC_RELAXED);
		text = print_page(&page, ret_len);
	}
	free(served);
	free(arenas);
	free(pools);
	return text;
}

static void tell_metrics(const struct ns_http_request *request, const struct ns_server_state *state,
                         struct ns_output *output)
{
	struct ns_http_answer answer;
	size_t len = 0;
	char *text = write_metrics(state, &len);

	if (!text) {
		ns_http_answer_words(&request->manner, 503, "out of memory", NULL, output);
		return;
	}
	ns_http_answer_begin(&answer, &request->manner, 200);
	ns_http_answer_field(&answer, "Content-Type", NS_METRICS_TYPE, strlen(NS_METRICS_TYPE));
	ns_http_answer_number(&answer, "Content-Length", len);
	ns_http_answer_end(&answer, output);
	if (!request->manner.is_head)
		ns_output_add(output, text, len);
	free(text);
}

/* ---- the dialect ---- */

static void tell_health(const struct ns_http_request *request, const struct ns_server_state *state,
                        struct ns_output *output)
{
	if (ns_state_is_draining(state))
		ns_http_answer_words(&request->manner, 503, "draining", NULL, output);
	else
		ns_http_answer_words(&request->manner, 200, "ok", NULL, output);
}

static bool is_path(struct ns_http_text path, const char *text)
{
	return path.len == strlen(text) && memcmp(path.text, text, path.len) == 0;
}

static void answer(const struct ns_http_request *request, const struct ns_server_state *state,
                   struct ns_output *output)
{
	const struct ns_http_head *head = &request->head;

	if (head->expects_other && head->minor > 0)
		ns_http_answer_words(&request->manner, 417,
		                     "the only expectation met here is 100-continue", NULL, output);
	else if (head->method == NS_HTTP_UNKNOWN)
		ns_http_answer_words(&request->manner, 501, "no such method", NULL, output);
	else if (head->method != NS_HTTP_GET && head->method != NS_HTTP_HEAD)
		ns_http_answer_words(&request->manner, 405, "the admin port is for reading",
		                     "GET, HEAD", output);
	else if (is_path(head->path, "/metrics"))
		tell_metrics(request, state, output);
	else if (is_path(head->path, "/healthz"))
		tell_health(request, state, output);
	else
		ns_http_answer_words(&request->manner, 404, "here are /metrics and /healthz", NULL,
		                     output);
}

// NOLINTNEXTLINE(readability-function-size): the dialect's signature
static enum ns_step take(void *state, struct ns_session_context *context, const char *bytes,
                         size_t count, size_t *used, struct ns_output *output,
                         struct ns_body *ret_body)
{
	struct ns_http_request *request = state;
	enum ns_step step;

	*used = 0;
	step = ns_http_request_take(request, context, bytes, count, used, output);
	if (step != NS_STEP_DONE)
		return step;
	ns_http_request_refuse_body(request);
	answer(request, context->server, output);
	return ns_http_request_end(request, ret_body);
}

/* Bodies are only ever read over. */
static enum ns_step finish(void *state, struct ns_session_context *context, struct ns_body *body,
                           struct ns_output *output)
{
	(void)state;
	(void)context;
	(void)body;
	(void)output;
	return NS_STEP_DONE;
}

const struct ns_dialect ns_admin = {
	.name = "admin",
	.create = create,
	.free = destroy,
	.take = take,
	.finish = finish,
	.head_max = NS_HEAD_LINES_MAX,
	.refuse = ns_http_request_refuse_head,
};
