/* http_settings.h - what the configuration says about one source that is polled over HTTP. */
#ifndef CR_COLLECTORS_HTTP_SETTINGS_H
#define CR_COLLECTORS_HTTP_SETTINGS_H

#include <curl/curl.h>

#include "secret.h"
#include "source.h"

/** What all targets of a source have in common. Outlives their transfers. */
struct http_settings {
	struct source *source;
	const char *user; /* "": none */
	bool has_secret;
	struct secret secret;                       /* password or token */
	enum source_auth auth;                      /* how it is sent */
	const char *secret_header;                  /* a header's name; "": none */
	struct secret header_secret;                /* and its value */
	const char *ca_file, *cert_file, *key_file; /* "": the system's; none; in cert_file */
	const char *server_name;                    /* "": the target's host */
	bool verify_tls, log_answers;
	size_t max_body;     /* bytes, unpacked */
	size_t max_inflight; /* polls in progress */
};

/** The options of the collector. */
extern const struct cr_option http_options[];

/**
 * Take the values, which have to live as long as settings, parse the source and read the secret.
 * err: one line on failure. Returns 0 or a negative errno; http_settings_fini() follows in both
 * cases.
 */
int http_settings_init(struct http_settings *settings, const union cr_value *option, char *err,
		       size_t err_len);

/** What is sent along so that the server knows who asks. */
enum source_shown http_settings_shown(const struct http_settings *settings);

/** Frees what init took; the secret is wiped. */
void http_settings_fini(struct http_settings *settings);

#endif
