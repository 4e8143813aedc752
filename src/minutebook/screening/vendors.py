"""The formats of tokens that their issuers document, each with the address of that documentation."""

from minutebook.screening.formats import Check, Format, has_crc32

_GITHUB = "https://docs.github.com/en/authentication/keeping-your-account-and-data-secure/about-authentication-to-github#githubs-token-formats"
_GITLAB = "https://docs.gitlab.com/security/tokens/#token-prefixes"
_SLACK = "https://docs.slack.dev/authentication/tokens/"
_STRIPE = "https://docs.stripe.com/keys"
_NPM = "https://docs.npmjs.com/about-access-tokens/"
_SHOPIFY = "https://shopify.dev/docs/apps/build/authentication-authorization"
_AZURE_STORAGE = (
    "https://learn.microsoft.com/azure/storage/common/storage-configure-connection-string"
)
_GOOGLE = "https://developers.google.com/identity/protocols/oauth2"


def _format(
    kind: str, address: str, starts: str, body: str, before: str = "", check: Check | None = None
) -> Format:
    return Format(kind, address, tuple(starts.split()), body, before, check)


FORMATS: tuple[Format, ...] = (
    _format("Minutebook token", "docs/guides/http.md", "mbk_", "<L:20><W:43>"),
    # Code and packages
    _format("GitHub token", _GITHUB, "ghp_ gho_ ghu_ ghs_ ghr_", "<A:36-255>", check=has_crc32),
    _format("GitHub fine-grained token", _GITHUB, "github_pat_", "<A:22>_<A:59>"),
    _format("GitLab personal access token", _GITLAB, "glpat-", "<T:20-300>"),
    _format("GitLab deploy token", _GITLAB, "gldt-", "<W:20-64>"),
    _format("GitLab runner token", _GITLAB, "glrt- glrtr- GR1348941", "<T:20-300>"),
    _format("GitLab job token", _GITLAB, "glcbt-", "<W:20-300>"),
    _format("GitLab trigger token", _GITLAB, "glptt-", "<W:20-64>"),
    _format("GitLab feed token", _GITLAB, "glft-", "<W:20-80>"),
    _format("GitLab application secret", _GITLAB, "gloas-", "<W:64>"),
    _format("GitLab agent token", _GITLAB, "glagent-", "<W:50-64>"),
    _format("GitLab SCIM token", _GITLAB, "glsoat-", "<W:20-64>"),
    _format("GitLab incoming mail token", _GITLAB, "glimt-", "<W:20-64>"),
    _format(
        "Bitbucket token",
        "https://support.atlassian.com/bitbucket-cloud/docs/access-tokens/",
        "ATBB ATCTT3xFfGN0",
        "<T:28-300>",
    ),
    _format(
        "Atlassian API token",
        "https://support.atlassian.com/atlassian-account/docs/manage-api-tokens-for-your-atlassian-account/",
        "ATATT3xFfGF0",
        "<W:100-300>=<U:8>",
    ),
    _format("npm token", _NPM, "npm_", "<A:36>", check=has_crc32),
    _format(
        "PyPI token",
        "https://pypi.org/help/#apitoken",
        "pypi-AgEIcHlwaS5vcmc pypi-AgENdGVzdC5weXBpLm9yZw",
        "<W:50-1000>",
    ),
    _format("RubyGems key", "https://guides.rubygems.org/api-key-scopes/", "rubygems_", "<H:48>"),
    _format("crates.io token", "https://crates.io/settings/tokens", "cio", "<A:32>"),
    _format(
        "NuGet key",
        "https://learn.microsoft.com/nuget/nuget-org/publish-a-package",
        "oy2",
        "<L:43>",
    ),
    _format(
        "Clojars token",
        "https://github.com/clojars/clojars-web/wiki/Deploy-Tokens",
        "CLOJARS_",
        "<H:60>",
    ),
    _format(
        "Docker token",
        "https://docs.docker.com/security/access-tokens/",
        "dckr_pat_ dckr_oat_",
        "<W:27-40>",
    ),
    _format(
        "JFrog key",
        "https://jfrog.com/help/r/jfrog-platform-administration-documentation/access-tokens",
        "AKCp cmVmdGtu",
        "<A:54-80>",
    ),
    _format(
        "SonarQube token",
        "https://docs.sonarsource.com/sonarqube-server/user-guide/managing-tokens/",
        "squ_ sqp_ sqa_",
        "<H:40>",
    ),
    _format(
        "Buildkite token",
        "https://buildkite.com/docs/platform/security/tokens",
        "bkua_ bkpt_ bkct_",
        "<A:40>",
    ),
    _format(
        "CircleCI token",
        "https://circleci.com/docs/managing-api-tokens/",
        "CCIPAT_ CCIPRJ_",
        "<A:20-24>_<H:40>",
    ),
    # Clouds
    _format(
        "AWS access key",
        "https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_identifiers.html#identifiers-unique-ids",
        "AKIA ASIA",
        "<V:16>",
    ),
    _format(
        "Google API key", "https://cloud.google.com/docs/authentication/api-keys", "AIza", "<W:35>"
    ),
    _format("Google OAuth client secret", _GOOGLE, "GOCSPX-", "<W:28>"),
    _format("Google OAuth access token", _GOOGLE, "ya29.", "<W:30-2000>"),
    _format("Google OAuth refresh token", _GOOGLE, "1//0", "<W:40-200>"),
    _format("Azure storage key", _AZURE_STORAGE, "AccountKey=", "<B:86>=="),
    _format(
        "Azure shared access key",
        "https://learn.microsoft.com/azure/service-bus-messaging/service-bus-sas",
        "SharedAccessKey=",
        "<B:43>=",
    ),
    _format(
        "Azure client secret",
        "https://learn.microsoft.com/entra/identity-platform/how-to-add-credentials",
        "7Q~ 8Q~",
        "<T:31-34>",
        before="<T:3>",
    ),
    _format(
        "DigitalOcean token",
        "https://docs.digitalocean.com/reference/api/create-personal-access-token/",
        "dop_v1_ doo_v1_ dor_v1_",
        "<H:64>",
    ),
    _format(
        "Cloudflare origin key",
        "https://developers.cloudflare.com/fundamentals/api/get-started/ca-keys/",
        "v1.0-",
        "<H:24>-<H:146>",
    ),
    _format(
        "Heroku key",
        "https://devcenter.heroku.com/articles/authentication",
        "HRKU-AA",
        "<W:58>",
    ),
    _format("Fly.io token", "https://fly.io/docs/security/tokens/", "fo1_", "<W:43>"),
    _format(
        "Fly.io macaroon",
        "https://fly.io/docs/security/tokens/",
        "fm1r_ fm1a_ fm2_",
        "<B:100-2000>",
    ),
    _format("Netlify token", "https://docs.netlify.com/api/get-started/", "nfp_", "<A:36-64>"),
    _format("Render key", "https://render.com/docs/api", "rnd_", "<A:28-40>"),
    _format(
        "Pulumi token",
        "https://www.pulumi.com/docs/pulumi-cloud/access-management/access-tokens/",
        "pul-",
        "<H:40>",
    ),
    _format(
        "Terraform Cloud token",
        "https://developer.hashicorp.com/terraform/cloud-docs/users-teams-organizations/api-tokens",
        ".atlasv1.",
        "<W:60-70>",
        before="<A:14>",
    ),
    _format(
        "Vault token",
        "https://developer.hashicorp.com/vault/docs/concepts/tokens",
        "hvs. hvb. hvr.",
        "<W:24-300>",
    ),
    _format(
        "Doppler token",
        "https://docs.doppler.com/docs/service-tokens",
        "dp.pt. dp.st. dp.ct. dp.sa. dp.scim. dp.audit.",
        "<T:40-64>",
    ),
    _format(
        "1Password service account token",
        "https://developer.1password.com/docs/service-accounts/",
        "ops_eyJ",
        "<W:200-2000>",
    ),
    _format(
        "Tailscale key",
        "https://tailscale.com/kb/1085/auth-keys",
        "tskey-auth- tskey-api- tskey-client- tskey-webhook-",
        "<A:8-20>-<A:20-40>",
    ),
    _format(
        "PlanetScale password",
        "https://planetscale.com/docs/concepts/connection-strings",
        "pscale_pw_ pscale_tkn_ pscale_oauth_",
        "<T:32-64>",
    ),
    _format(
        "Supabase key",
        "https://supabase.com/docs/guides/api/api-keys",
        "sb_secret_ sbp_",
        "<W:30-64>",
    ),
    _format("Neon key", "https://neon.com/docs/manage/api-keys", "napi_", "<L:60-80>"),
    _format(
        "Databricks token",
        "https://docs.databricks.com/aws/en/dev-tools/auth/pat",
        "dapi",
        "<H:32>",
    ),
    # Models
    _format(
        "OpenAI key",
        "https://platform.openai.com/docs/api-reference/authentication",
        "sk-proj- sk-svcacct- sk-admin-",
        "<W:40-200>",
    ),
    _format(
        "OpenAI user key",
        "https://platform.openai.com/docs/api-reference/authentication",
        "T3BlbkFJ",
        "<A:20>",
        before="sk-<A:20>",
    ),
    _format(
        "Anthropic key",
        "https://docs.anthropic.com/en/api/overview#authentication",
        "sk-ant-api03- sk-ant-admin01- sk-ant-oat01- sk-ant-ort01-",
        "<W:60-120>",
    ),
    _format(
        "OpenRouter key",
        "https://openrouter.ai/docs/api-reference/authentication",
        "sk-or-v1-",
        "<H:64>",
    ),
    _format(
        "Hugging Face token",
        "https://huggingface.co/docs/hub/security-tokens",
        "hf_ api_org_",
        "<A:34>",
    ),
    _format("Groq key", "https://console.groq.com/docs/quickstart", "gsk_", "<A:52>"),
    _format("xAI key", "https://docs.x.ai/docs/tutorial", "xai-", "<A:80>"),
    _format("Perplexity key", "https://docs.perplexity.ai/getting-started", "pplx-", "<A:48-64>"),
    _format(
        "Replicate token", "https://replicate.com/docs/topics/security/api-tokens", "r8_", "<A:37>"
    ),
    _format(
        "LangSmith key",
        "https://docs.langchain.com/langsmith/create-account-api-key",
        "lsv2_pt_ lsv2_sk_",
        "<H:32>_<H:10>",
    ),
    _format(
        "Pinecone key",
        "https://docs.pinecone.io/guides/projects/manage-api-keys",
        "pcsk_",
        "<A:5-8>_<A:40-70>",
    ),
    # Messages and mail
    _format(
        "Slack token",
        _SLACK,
        "xoxe.xoxp-1- xoxe.xoxb-1- xoxe- xoxb- xoxp- xoxa- xoxr- xoxs-",
        "<W:24-250>",
    ),
    _format("Slack app token", _SLACK, "xapp-", "<D:1>-<U:9-12>-<D:10-14>-<H:64>"),
    _format(
        "Slack webhook",
        "https://docs.slack.dev/messaging/sending-messages-using-incoming-webhooks/",
        "hooks.slack.com/services/ hooks.slack.com/workflows/",
        "T<U:8-12>/<U:8-12>/<A:20-30>",
    ),
    _format(
        "Discord webhook",
        "https://discord.com/developers/docs/resources/webhook",
        "discord.com/api/webhooks/ discordapp.com/api/webhooks/",
        "<D:17-20>/<W:60-80>",
    ),
    _format(
        "Telegram bot token",
        "https://core.telegram.org/bots/api#authorizing-your-bot",
        ":AA",
        "<W:33>",
        before="<D:8-10>",
    ),
    _format(
        "SendGrid key",
        "https://www.twilio.com/docs/sendgrid/ui/account-and-settings/api-keys",
        "SG.",
        "<W:22>.<W:43>",
    ),
    _format("Twilio key", "https://www.twilio.com/docs/iam/api-keys", "SK", "<H:32>"),
    _format(
        "Mailgun key",
        "https://documentation.mailgun.com/docs/mailgun/api-reference/mg-auth",
        "key-",
        "<H:32>",
    ),
    _format(
        "Mailchimp key",
        "https://mailchimp.com/developer/marketing/docs/fundamentals/",
        "-us",
        "<D:1-2>",
        before="<H:32>",
    ),
    _format(
        "Brevo key",
        "https://developers.brevo.com/docs/getting-started",
        "xkeysib- xsmtpsib-",
        "<H:64>-<A:16>",
    ),
    _format(
        "Resend key", "https://resend.com/docs/api-reference/introduction", "re_", "<A:8>_<A:24>"
    ),
    # Money and shops
    _format("Stripe key", _STRIPE, "sk_live_ sk_test_ rk_live_ rk_test_", "<A:24-247>"),
    _format("Stripe webhook secret", "https://docs.stripe.com/webhooks", "whsec_", "<B:32-64>"),
    _format(
        "Square token",
        "https://developer.squareup.com/docs/build-basics/access-tokens",
        "EAAA",
        "<W:60>",
    ),
    _format(
        "Square application secret",
        "https://developer.squareup.com/docs/build-basics/access-tokens",
        "sq0csp- sq0atp-",
        "<W:22-43>",
    ),
    _format("Shopify token", _SHOPIFY, "shpat_ shpca_ shppa_ shpss_", "<H:32>"),
    _format(
        "Plaid token",
        "https://plaid.com/docs/api/tokens/",
        "access-production- access-sandbox- access-development-",
        "<H:8>-<H:4>-<H:4>-<H:4>-<H:12>",
    ),
    _format(
        "Braintree token",
        "https://developer.paypal.com/braintree/docs/guides/authorization/tokenization-key",
        "access_token$production$ access_token$sandbox$",
        "<L:16>$<H:32>",
    ),
    _format(
        "Flutterwave key",
        "https://developer.flutterwave.com/docs/authentication",
        "FLWSECK- FLWSECK_TEST-",
        "<H:32>-X",
    ),
    _format("EasyPost key", "https://docs.easypost.com/docs/authentication", "EZAK EZTK", "<A:54>"),
    _format(
        "Shippo token",
        "https://docs.goshippo.com/docs/guides_general/authentication/",
        "shippo_live_ shippo_test_",
        "<H:40>",
    ),
    _format(
        "Duffel token",
        "https://duffel.com/docs/api/overview/making-requests",
        "duffel_live_ duffel_test_",
        "<W:43>",
    ),
    # Work
    _format(
        "Notion token",
        "https://developers.notion.com/docs/authorization",
        "ntn_ secret_",
        "<A:43-50>",
    ),
    _format(
        "Linear key", "https://linear.app/developers/graphql", "lin_api_ lin_oauth_", "<A:40-64>"
    ),
    _format(
        "Figma token",
        "https://developers.figma.com/docs/rest-api/authentication/",
        "figd_ figo_",
        "<W:40-64>",
    ),
    _format(
        "Airtable token",
        "https://airtable.com/developers/web/guides/personal-access-tokens",
        "pat",
        "<A:14>.<H:64>",
    ),
    _format(
        "Postman key",
        "https://learning.postman.com/docs/developer/postman-api/authentication/",
        "PMAK-",
        "<H:24>-<H:34>",
    ),
    _format(
        "HubSpot token",
        "https://developers.hubspot.com/docs/guides/apps/private-apps/overview",
        "pat-na1- pat-na2- pat-eu1-",
        "<H:8>-<H:4>-<H:4>-<H:4>-<H:12>",
    ),
    _format(
        "Contentful token",
        "https://www.contentful.com/developers/docs/references/authentication/",
        "CFPAT-",
        "<W:43>",
    ),
    _format(
        "Typeform token",
        "https://www.typeform.com/developers/get-started/personal-access-token/",
        "tfp_",
        "<T:40-64>",
    ),
    _format("Dropbox token", "https://developers.dropbox.com/oauth-guide", "sl.", "<W:120-1500>"),
    _format(
        "ReadMe key", "https://docs.readme.com/main/reference/authentication", "rdme_", "<L:70>"
    ),
    _format(
        "Adafruit IO key", "https://io.adafruit.com/api/docs/#authentication", "aio_", "<A:28>"
    ),
    _format(
        "Prefect key",
        "https://docs.prefect.io/v3/how-to-guides/cloud/manage-users/api-keys",
        "pnu_ pnb_",
        "<A:36>",
    ),
    # Watching
    _format("Sentry token", "https://docs.sentry.io/account/auth-tokens/", "sntryu_", "<H:64>"),
    _format(
        "Sentry organization token",
        "https://docs.sentry.io/account/auth-tokens/",
        "sntrys_eyJ",
        "<B:60-400>",
    ),
    _format(
        "Grafana service account token",
        "https://grafana.com/docs/grafana/latest/administration/service-accounts/",
        "glsa_",
        "<A:32>_<H:8>",
    ),
    _format(
        "Grafana Cloud token",
        "https://grafana.com/docs/grafana-cloud/security-and-account-management/authentication-and-permissions/access-policies/",
        "glc_",
        "<B:60-400>",
    ),
    _format(
        "New Relic key",
        "https://docs.newrelic.com/docs/apis/intro-apis/new-relic-api-keys/",
        "NRAK-",
        "<U:27>",
    ),
    _format(
        "New Relic ingest key",
        "https://docs.newrelic.com/docs/apis/intro-apis/new-relic-api-keys/",
        "NRII-",
        "<W:32>",
    ),
    _format(
        "Dynatrace token",
        "https://docs.dynatrace.com/docs/manage/identity-access-management/access-tokens-and-oauth-clients/access-tokens",
        "dt0c01. dt0s01. dt0s16.",
        "<U:24>.<U:64>",
    ),
    _format("PostHog key", "https://posthog.com/docs/api", "phx_", "<A:40-50>"),
    _format(
        "LaunchDarkly key",
        "https://launchdarkly.com/docs/home/account/environment/keys",
        "sdk- api-",
        "<H:8>-<H:4>-<H:4>-<H:4>-<H:12>",
    ),
    # Keys that are no service's
    _format("age secret key", "https://age-encryption.org/v1", "AGE-SECRET-KEY-1", "<U:58>"),
    _format(
        "JSON Web Token",
        "https://www.rfc-editor.org/rfc/rfc7519",
        "eyJ",
        "<W:10-2000>.eyJ<W:10-6000>.<W:20-1000>",
    ),
)
"""Every format with a beginning of its own."""
