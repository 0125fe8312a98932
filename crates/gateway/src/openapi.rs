//! The gateway's interface, as OpenAPI: what it answers itself, and the prefixes that it forwards.

use crate::auth::{self, ENDPOINTS};
use crate::error::ErrorRecord;
use crate::path::PREFIXES;
use base::token::Route;
use kit::openapi::{Credential, Description, complete_with};
use serde_json::Value;
use utoipa::OpenApi;
use utoipa::openapi::path::{Operation, OperationBuilder, ParameterBuilder, ParameterIn, PathItemBuilder};
use utoipa::openapi::schema::{ObjectBuilder, Type};
use utoipa::openapi::{HttpMethod, PathItem, RefOr, Required, Response, SecurityRequirement};

const DESCRIPTION: Description = Description {
    title: "Stoa gateway",
    text: "Signs in, checks tokens, and forwards by the prefix of the path. Every answer has an `X-Request-Id`; \
           `X-Unknown-Fields` names fields and parameters of a request that are not known here.",
    security: &[Credential::Bearer],
};

/// The methods that the document names. The others are forwarded as well.
const METHODS: [HttpMethod; 7] = [
    HttpMethod::Get,
    HttpMethod::Post,
    HttpMethod::Put,
    HttpMethod::Patch,
    HttpMethod::Delete,
    HttpMethod::Head,
    HttpMethod::Options,
];

#[derive(OpenApi)]
#[openapi(paths(auth::login, auth::guest, auth::refresh))]
struct AuthPaths;

/// Returns the document.
pub fn document() -> Value {
    let mut openapi = AuthPaths::openapi();
    let guest = openapi.paths.paths.get_mut("/auth/guest").and_then(|item| item.post.as_mut());
    if let Some(RefOr::T(body)) = guest.and_then(|operation| operation.request_body.as_mut()) {
        body.required = Some(Required::False);
    }
    for (path, _) in ENDPOINTS {
        if let Some(item) = openapi.paths.paths.get_mut(&format!("/auth{path}")) {
            item.options = Some(preflight());
        }
    }
    for (prefix, route) in PREFIXES {
        openapi.paths.paths.insert(format!("{prefix}/{{rest}}"), forwarded(route));
    }
    complete_with::<ErrorRecord>(openapi, &DESCRIPTION)
}

/// Describes what browsers ask before a page of another origin may post.
fn preflight() -> Operation {
    OperationBuilder::new()
        .summary(Some("Tells a browser whether a page of another origin may post, as `CORS_ORIGINS` says."))
        .response("204", Response::new("The page may post."))
        .response(
            "405",
            Response::new("`METHOD_NOT_ALLOWED`: the page may not, or the request is no preflight."),
        )
        .securities(Some([SecurityRequirement::default()]))
        .build()
}

/// Describes what is forwarded on a route.
fn forwarded(route: Route) -> PathItem {
    let rest = ParameterBuilder::new()
        .name("rest")
        .parameter_in(ParameterIn::Path)
        .required(Required::True)
        .description(Some("The rest of the path, which may have slashes and may be empty."))
        .schema(Some(ObjectBuilder::new().schema_type(Type::String)))
        .build();
    let operation = |method| {
        let summary = format!("Forwards to `{}_SERVICE_URL`, without the prefix.", route.as_str());
        let mut operation = OperationBuilder::new().summary(Some(summary)).parameter(rest.clone());
        for (status, text) in [
            ("default", "The target's answer, unchanged."),
            ("400", "`INVALID_REQUEST`: the path leads out of its prefix."),
            ("403", "`INVALID_TOKEN`, `ROUTE_MISMATCH` or `GUESTS_OFF`: the token does not open this route."),
            ("502", "`MISSING_TARGET` or `UPSTREAM_UNAVAILABLE`: no target is set, or none answers."),
            ("504", "`UPSTREAM_TIMEOUT`: the target did not answer in time."),
        ] {
            operation = operation.response(status, Response::new(text));
        }
        if route == Route::Kv && matches!(method, HttpMethod::Get | HttpMethod::Head) {
            let text = "To `/kv/`, if the path is `/kv` and `Accept` names `text/html`: the page's addresses are relative.";
            operation = operation.response("302", Response::new(text));
        }
        if route == Route::Build {
            return operation
                .response("401", Response::new("`MISSING_TOKEN`: this route needs a token."))
                .build();
        }
        let bearer = SecurityRequirement::new("bearer", [""; 0]);
        operation.securities(Some([SecurityRequirement::default(), bearer])).build()
    };
    let operations = METHODS.into_iter().map(|method| (method.clone(), operation(method)));
    operations
        .fold(PathItemBuilder::new(), |item, (method, operation)| item.operation(method, operation))
        .build()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    #[test]
    fn the_document_has_what_is_dispatched_and_nothing_else() {
        let document = document();
        let paths = document["paths"].as_object().unwrap();
        let documented: BTreeMap<String, Vec<&String>> = paths
            .iter()
            .map(|(path, item)| (path.clone(), item.as_object().unwrap().keys().collect()))
            .collect();
        let auth = ENDPOINTS.map(|(path, _)| (format!("/auth{path}"), vec!["options", "post"]));
        let methods = vec!["delete", "get", "head", "options", "patch", "post", "put"];
        let prefixes = PREFIXES.map(|(prefix, _)| (format!("{prefix}/{{rest}}"), methods.clone()));
        let dispatched: BTreeMap<String, Vec<&str>> = auth.into_iter().chain(prefixes).collect();
        assert_eq!(format!("{documented:?}"), format!("{dispatched:?}"));
    }

    #[test]
    fn errors_are_the_gateways_records() {
        let document = document();
        let missing = &document["paths"]["/build/{rest}"]["get"]["responses"]["401"];
        let example = &missing["content"]["application/json"]["example"];
        assert_eq!((&example["status"], &example["code"]), (&401.into(), &"MISSING_TOKEN".into()));
        assert_eq!(document["components"]["schemas"]["Error"]["required"].as_array().unwrap().len(), 6);
        assert!(document["paths"]["/kv/{rest}"]["get"]["responses"].get("401").is_none());
    }
}
