/* http_settings.h - what the configuration says about one source that is polled over HTTP. */
#ifndef CR_COLLECTORS_HTTP_SETTINGS_H
#define CR_COLLECTORS_HTTP_SETTINGS_H

#include <curl/curl.h>

#include "http_profile.h"

/** What all targets of a source have in common. Outlives their transfers. */
struct http_settings {
	const struct http_profile *profile;
	const char *path;    /* instead of the profile's; "": the profile's */
	const char *user;    /* "": no credentials are sent */
	char *password;      /* NULL without user */
	const char *ca_file; /* "": the system's */
	bool verify_tls;
	size_t max_body;            /* bytes, unpacked */
	size_t max_inflight;        /* polls in progress */
	struct curl_slist *headers; /* of each request */
};

/** The options of the collector. */
extern const struct cr_option http_options[];

/**
 * Take the values, which have to live as long as settings, and read the password. err: one line on
 * failure. Returns 0 or a negative errno; http_settings_fini() follows in both cases.
 */
int http_settings_init(struct http_settings *settings, const union cr_value *option, char *err,
		       size_t err_len);

/** Frees what init took; the password is wiped. */
void http_settings_fini(struct http_settings *settings);

#endif
