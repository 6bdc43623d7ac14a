/* SPDX-License-Identifier: BSD-3-Clause */
#include "report.h"

#include "../../probe/base/file.h"
#include "../../probe/base/json.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>

static int put_percentiles(FILE *out, const void *report)
{
	return nl_report_percentiles_csv(report, out);
}

static int put_effects(FILE *out, const void *report)
{
	return nl_report_effects_csv(report, out);
}

static int put_json(FILE *out, const void *report)
{
	return np_json_write(nl_report_json(report), out);
}

static int put_markdown(FILE *out, const void *report)
{
	return nl_report_markdown(report, out);
}

static const struct {
	const char *name;
	np_file_put *put;
} files[] = {
	{ "latency_percentiles.csv", put_percentiles },
	{ "latency_effects.csv", put_effects },
	{ "latency_analysis.json", put_json },
	{ "latency_analysis.md", put_markdown },
};

int nl_report_write(const struct nl_report *report, const char *directory, struct np_error *err)
{
	int rc = 0;

	if (mkdir(directory, 0777) < 0 && errno != EEXIST)
		return np_error_sys(err, errno, "%s", directory);
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]) && rc == 0; i++) {
		char *path;

		if (asprintf(&path, "%s/%s", directory, files[i].name) < 0)
			return np_error_sys(err, ENOMEM, "%s", directory);
		rc = np_file_replace(path, files[i].put, report, err);
		free(path);
	}
	return rc;
}
