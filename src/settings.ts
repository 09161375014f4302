/** One setting as `uk config` explains it. All are environment variables, all optional (contract, part 14). */
export interface Setting {
  name: string
  fallback: string
  meaning: string
  secret?: true
}

/** Whose keys the instance may be started with; the AI gateway's presets say the rest. */
const providers = [
  'OPENAI',
  'ANTHROPIC',
  'GEMINI',
  'OPENROUTER',
  'MISTRAL',
  'GROQ',
  'TOGETHER',
  'FIREWORKS',
  'DEEPSEEK',
  'XAI',
  'COHERE',
  'CEREBRAS',
  'MOONSHOT',
  'AZURE_OPENAI',
  'BEDROCK',
  'VERTEX',
  'ELEVENLABS',
  'DEEPGRAM',
  'REPLICATE',
  'FAL',
  'BFL',
  'STABILITY',
]

export const settings: readonly Setting[] = [
  { name: 'UK_HOST', fallback: '127.0.0.1', meaning: 'The address to listen on.' },
  { name: 'UK_PORT', fallback: '4242', meaning: 'The port to listen on; 0 takes a free one. The ready line names it.' },
  { name: 'UK_DATA_DIR', fallback: './data', meaning: 'Database, blobs and generated secrets. One instance holds it.' },
  {
    name: 'DATABASE_URL',
    fallback: '',
    meaning: 'A PostgreSQL of yours, 15 or newer, instead of the embedded one.',
    secret: true,
  },
  {
    name: 'UK_BLOBS',
    fallback: 'file:',
    meaning: 'Where file bytes live: `file:` under the data dir, or `s3://bucket/prefix` with AWS_*.',
  },
  { name: 'UK_S3_ENDPOINT', fallback: '', meaning: 'An S3-compatible endpoint other than the vendor’s.' },
  {
    name: 'UK_BUS',
    fallback: '',
    meaning: 'Fan-out between server processes: empty is PostgreSQL, or `nats://…`, `redis://…`.',
    secret: true,
  },
  {
    name: 'UK_PEER_HOST',
    fallback: '127.0.0.1',
    meaning:
      'The address at which this process listens for the other server processes of the instance. Where these run on several machines, one of a private network.',
  },
  { name: 'UK_WORKERS', fallback: '1', meaning: 'Server processes on this machine.' },
  {
    name: 'UK_SECRET_KEY',
    fallback: '',
    meaning:
      'Root key for encryption at rest, ≥ 32 characters; a comma list rotates, newest first. Empty: made in the data dir.',
    secret: true,
  },
  {
    name: 'UK_PUBLIC_URL',
    fallback: '',
    meaning: 'The address people use, such as https://uk.example.com. Empty: the listening origin.',
  },
  { name: 'UK_ALLOWED_HOSTS', fallback: '', meaning: 'Further host names that are served, comma-separated.' },
  {
    name: 'UK_TRUSTED_PROXIES',
    fallback: '',
    meaning: 'Addresses or CIDRs whose X-Forwarded-For counts, comma-separated.',
  },
  {
    name: 'UK_PREVIEW_DOMAIN',
    fallback: 'localhost',
    meaning:
      'Under it each forwarded port of a computer has an origin of its own, such as `p5173-<id>.previews.example.com`: a name of its own, with `*.` leading here.',
  },
  { name: 'UK_SIGN_UP', fallback: '', meaning: '`open` or `invite`. Empty: open on loopback, else invite.' },
  {
    name: 'UK_OIDC_ISSUER',
    fallback: '',
    meaning: 'An identity provider that people sign in with (OpenID Connect), such as https://login.example.com.',
  },
  { name: 'UK_OIDC_CLIENT_ID', fallback: '', meaning: 'What the identity provider calls this instance.' },
  { name: 'UK_OIDC_CLIENT_SECRET', fallback: '', meaning: 'The secret that belongs to it.', secret: true },
  { name: 'UK_OIDC_NAME', fallback: '', meaning: 'The name of the provider on the button. Empty: its host name.' },
  {
    name: 'UK_OIDC_JOIN',
    fallback: '',
    meaning:
      'Who of the identity provider may join: `anyone`, `invited`, `nobody` (accounts are linked by who has them), or domains of verified addresses such as `example.com,example.org`. An address that the provider doesn’t call verified matches no domain and no invitation. Empty: as UK_SIGN_UP says.',
  },
  {
    name: 'UK_SIGN_UP_CREDITS_USD',
    fallback: '0',
    meaning: 'Credits that a new account starts with; where SMTP_URL is set, once its address is confirmed.',
  },
  {
    name: 'UK_SIM',
    fallback: '',
    meaning: '`on` or `off`: the simulated models. Empty: on when listening on loopback.',
  },
  {
    name: 'UK_DEFAULT_MODEL',
    fallback: '',
    meaning:
      'The model that answers where nobody named one, neither message, chat, agent nor the settings of the account. Empty, or where the caller may not use it: a sensible one of those that are there.',
  },
  {
    name: 'UK_UPSTREAM_ALLOW',
    fallback: '',
    meaning: 'Private `host:port` or `CIDR[:port]` that provider endpoints given by users may reach.',
  },
  { name: 'UK_FETCH_ALLOW', fallback: '', meaning: 'The same for web fetch, webhooks and outside MCP servers.' },
  {
    name: 'UK_MEDIA_ANSWER_MB',
    fallback: '512',
    meaning: 'Answers with pictures and sound that one server process holds in memory together; who comes later waits.',
  },
  {
    name: 'UK_INLINE_SECONDS',
    fallback: '600',
    meaning: 'How long a call of `/inference` for media is waited for before it is answered 202 with its operation.',
  },
  { name: 'UK_LIMIT_READS', fallback: '6000', meaning: 'Reads per minute and caller; 0 is off. So for the next five.' },
  { name: 'UK_LIMIT_WRITES', fallback: '1200', meaning: 'Writes per minute and caller.' },
  { name: 'UK_LIMIT_SEARCHES', fallback: '600', meaning: 'Searches per minute and caller.' },
  {
    name: 'UK_LIMIT_INFERENCE',
    fallback: '6000',
    meaning: 'Inference and gateway starts per minute and caller, and what automations start by the clock per account.',
  },
  {
    name: 'UK_LIMIT_LOGINS',
    fallback: '10',
    meaning: 'Failed logins per minute, per address (of IPv6 per /64) and per account.',
  },
  {
    name: 'UK_LIMIT_SIGN_UPS',
    fallback: '',
    meaning:
      'Sign-ups per minute and address (of IPv6 per /64), whether they succeed or not. Empty: as UK_LIMIT_LOGINS.',
  },
  { name: 'UK_LIMIT_IN_FLIGHT', fallback: '1000', meaning: 'Requests of one caller at the same time.' },
  {
    name: 'UK_LIMIT_STORAGE_BYTES',
    fallback: '0',
    meaning: 'Bytes that the files of a workspace may take, their versions and the trash included; 0 is off.',
  },
  { name: 'UK_LIMIT_FILE_BYTES', fallback: '0', meaning: 'Bytes of one file; 0 is off.' },
  {
    name: 'UK_REQUEST_RETENTION_DAYS',
    fallback: '30',
    meaning:
      'How long what runs asked their models is kept, sealed, so that they can be played again, and the log of requests to models, without what was said in them; 0 keeps none.',
  },
  {
    name: 'UK_FAST_HTTP',
    fallback: 'on',
    meaning:
      '`on` or `off`: ordinary calls of the gateways are read by a reader of our own, in front of Node’s HTTP server.',
  },
  {
    name: 'UK_COMPUTER_DRIVERS',
    fallback: '',
    meaning:
      'What cloud computers are made of: `bubblewrap`, `docker`, or `off` for none; the first that works is the default. Empty: `bubblewrap`, and `docker` where UK_DOCKER_SOCKET is set.',
  },
  {
    name: 'UK_DOCKER_SOCKET',
    fallback: '',
    meaning:
      'The socket of Docker or Podman on this host, such as `/run/podman/podman.sock`. Empty: where they usually listen, if UK_COMPUTER_DRIVERS names `docker`.',
  },
  {
    name: 'UK_DOCKER_IMAGES',
    fallback: 'docker.io/library/debian:stable-slim',
    meaning: 'Images that computers may be made of, each with a shell and `mkfifo`; pulled when first used.',
  },
  {
    name: 'UK_COMPUTERS_PER_WORKSPACE',
    fallback: '20',
    meaning: 'Cloud computers that a workspace may have; 0 is none.',
  },
  { name: 'UK_DRAIN_SECONDS', fallback: '20', meaning: 'How long a stopping server lets requests finish.' },
  {
    name: 'UK_STOP_SECONDS',
    fallback: '30',
    meaning: 'How long a stop may last beyond that; then the log names what it waits for, and the process ends with 1.',
  },
  { name: 'UK_LOG', fallback: 'info', meaning: 'Least level to log: debug, info, warn, error.' },
  {
    name: 'UK_LOG_FORMAT',
    fallback: 'auto',
    meaning: 'Format of the log on stderr: text, json, or auto (text on a terminal, JSON anywhere else).',
  },
  { name: 'SMTP_URL', fallback: '', meaning: 'smtp://user:password@host:port to send mail.', secret: true },
  { name: 'UK_MAIL_FROM', fallback: 'Ukiyo <ukiyo@localhost>', meaning: 'The sender of mail.' },
  { name: 'BRAVE_API_KEY', fallback: '', meaning: 'Web search by Brave.', secret: true },
  { name: 'BRAVE_BASE_URL', fallback: '', meaning: 'Another address than Brave’s own.' },
  { name: 'TAVILY_API_KEY', fallback: '', meaning: 'Web search by Tavily.', secret: true },
  { name: 'TAVILY_BASE_URL', fallback: '', meaning: 'Another address than Tavily’s own.' },
  {
    name: 'UK_EMBEDDING_MODEL',
    fallback: '',
    meaning:
      'The model that search embeds with, such as openai/text-embedding-3-small, metered; `off` is none. Empty: one of a local engine.',
  },
  { name: 'SEARXNG_URL', fallback: '', meaning: 'Web search by your SearXNG.' },
  {
    name: 'UK_CATALOGUE_URL',
    fallback: 'https://models.dev/api.json',
    meaning:
      'Where `POST /admin/catalogues` fetches models and prices from: models.dev’s form, or that of snapshot.json.',
  },
  {
    name: 'UK_LOCAL_ENGINES',
    fallback: '',
    meaning:
      'Other engines on this machine: empty looks for LM Studio, llama.cpp, vLLM, LocalAI, whisper.cpp, Speaches, Kokoro-FastAPI and stable-diffusion.cpp at their usual ports, `off` for none; or `vllm=127.0.0.1:8001,…`.',
  },
  {
    name: 'OLLAMA_HOST',
    fallback: '',
    meaning: 'An Ollama; empty looks on its usual port on this machine, `off` does not.',
  },
  ...providers.flatMap((name): Setting[] => [
    {
      name: `${name}_API_KEY`,
      fallback: '',
      meaning: 'Makes it a provider of this instance, on credits.',
      secret: true,
    },
    { name: `${name}_BASE_URL`, fallback: '', meaning: 'Another address than the provider’s own.' },
  ]),
]
