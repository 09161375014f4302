/** A setting as shown by `uk config`. All are optional environment variables (contract, part 14). */
export interface Setting {
  name: string
  fallback: string
  meaning: string
  secret?: true
}

/** Providers whose keys the environment may contain. The AI gateway's presets define the rest. */
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
  {
    name: 'UK_PORT',
    fallback: '4242',
    meaning: 'The port to listen on. 0 selects a free port; the log line `ready` shows it.',
  },
  {
    name: 'UK_DATA_DIR',
    fallback: './data',
    meaning: 'The directory for the database, files and generated secrets. Only one instance can use it.',
  },
  {
    name: 'DATABASE_URL',
    fallback: '',
    meaning: 'URL of your own PostgreSQL server (15 or newer). Empty: the embedded one.',
    secret: true,
  },
  {
    name: 'UK_BLOBS',
    fallback: 'file:',
    meaning:
      'Where file contents are stored: `file:` for the data directory, or `s3://bucket/prefix` with the AWS_* variables.',
  },
  { name: 'UK_S3_ENDPOINT', fallback: '', meaning: 'Endpoint of an S3-compatible service other than AWS.' },
  {
    name: 'UK_BUS',
    fallback: '',
    meaning: 'Message bus between server processes: `nats://…` or `redis://…`. Empty: PostgreSQL.',
    secret: true,
  },
  {
    name: 'UK_PEER_HOST',
    fallback: '127.0.0.1',
    meaning:
      'The address on which this process listens for the instance’s other server processes. With several machines, use an address in a private network.',
  },
  { name: 'UK_WORKERS', fallback: '1', meaning: 'Number of server processes on this machine.' },
  {
    name: 'UK_SECRET_KEY',
    fallback: '',
    meaning:
      'Root keys for encryption at rest, 32 or more characters each, comma-separated, newest first (to rotate). Empty: generated in the data directory.',
    secret: true,
  },
  {
    name: 'UK_PUBLIC_URL',
    fallback: '',
    meaning: 'The public URL, such as https://uk.example.com. Empty: the listening address.',
  },
  { name: 'UK_ALLOWED_HOSTS', fallback: '', meaning: 'Additional host names to accept, comma-separated.' },
  {
    name: 'UK_TRUSTED_PROXIES',
    fallback: '',
    meaning: 'Addresses or CIDRs of proxies whose X-Forwarded-For is trusted, comma-separated.',
  },
  {
    name: 'UK_PREVIEW_DOMAIN',
    fallback: 'localhost',
    meaning:
      'Parent domain for port previews. Each forwarded port gets its own origin, such as `p5173-<id>.previews.example.com`. Point `*.` of this domain here.',
  },
  {
    name: 'UK_SIGN_UP',
    fallback: '',
    meaning: 'Who can sign up: `open` or `invite`. Empty: open on loopback, otherwise invite.',
  },
  {
    name: 'UK_OIDC_ISSUER',
    fallback: '',
    meaning: 'Issuer URL of your OpenID Connect identity provider, such as https://login.example.com.',
  },
  { name: 'UK_OIDC_CLIENT_ID', fallback: '', meaning: 'Client ID of this instance at the identity provider.' },
  {
    name: 'UK_OIDC_CLIENT_SECRET',
    fallback: '',
    meaning: 'Client secret of this instance at the identity provider.',
    secret: true,
  },
  { name: 'UK_OIDC_NAME', fallback: '', meaning: 'The provider’s name on the sign-in button. Empty: its host name.' },
  {
    name: 'UK_OIDC_JOIN',
    fallback: '',
    meaning:
      'Who can join through the identity provider: `anyone`, `invited`, `nobody` (users can only link existing accounts), or domains of verified email addresses such as `example.com,example.org`. Unverified addresses match no domain and no invitation. Empty: same as UK_SIGN_UP.',
  },
  {
    name: 'UK_SIGN_UP_CREDITS_USD',
    fallback: '0',
    meaning: 'Credits for new accounts. With SMTP_URL set, they are granted once the email address is confirmed.',
  },
  {
    name: 'UK_SIM',
    fallback: '',
    meaning: 'Simulated models: `on` or `off`. Empty: on when listening on loopback.',
  },
  {
    name: 'UK_DEFAULT_MODEL',
    fallback: '',
    meaning:
      'Model used when the message, chat, agent and account settings name none. Empty, or if the caller can’t use it: chosen from the available models.',
  },
  {
    name: 'UK_UPSTREAM_ALLOW',
    fallback: '',
    meaning: 'Private `host:port` or `CIDR[:port]` that users’ provider endpoints can reach.',
  },
  {
    name: 'UK_FETCH_ALLOW',
    fallback: '',
    meaning: 'Private `host:port` or `CIDR[:port]` that web fetch, webhooks and external MCP servers can reach.',
  },
  {
    name: 'UK_MEDIA_ANSWER_MB',
    fallback: '512',
    meaning:
      'How many image and audio responses a server process holds in memory at the same time. Further requests wait.',
  },
  {
    name: 'UK_INLINE_SECONDS',
    fallback: '600',
    meaning: 'How long `/inference` waits for generated media before it returns 202 with an operation.',
  },
  {
    name: 'UK_LIMIT_READS',
    fallback: '6000',
    meaning: 'Read requests per minute and caller. 0 turns this limit off; the same applies to the next five.',
  },
  { name: 'UK_LIMIT_WRITES', fallback: '1200', meaning: 'Write requests per minute and caller.' },
  { name: 'UK_LIMIT_SEARCHES', fallback: '600', meaning: 'Search requests per minute and caller.' },
  {
    name: 'UK_LIMIT_INFERENCE',
    fallback: '6000',
    meaning:
      'Inference and gateway requests started per minute and caller, and scheduled automation runs per minute and account.',
  },
  {
    name: 'UK_LIMIT_LOGINS',
    fallback: '10',
    meaning: 'Failed sign-ins per minute, per IP address (IPv6: per /64) and per account.',
  },
  {
    name: 'UK_LIMIT_SIGN_UPS',
    fallback: '',
    meaning: 'Sign-up attempts per minute and IP address (IPv6: per /64). Empty: same as UK_LIMIT_LOGINS.',
  },
  { name: 'UK_LIMIT_IN_FLIGHT', fallback: '1000', meaning: 'Concurrent requests per caller.' },
  {
    name: 'UK_LIMIT_STORAGE_BYTES',
    fallback: '0',
    meaning: 'Storage limit of a workspace in bytes, including file versions and the trash. 0: no limit.',
  },
  { name: 'UK_LIMIT_FILE_BYTES', fallback: '0', meaning: 'Size limit of a file in bytes. 0: no limit.' },
  {
    name: 'UK_REQUEST_RETENTION_DAYS',
    fallback: '30',
    meaning:
      'How long to keep the encrypted model requests of runs (for replay) and the log of model requests (without their content). 0 keeps none.',
  },
  {
    name: 'UK_FAST_HTTP',
    fallback: 'on',
    meaning:
      '`on` or `off`: use the built-in fast HTTP reader for common gateway requests, in front of Node’s HTTP server.',
  },
  {
    name: 'UK_COMPUTER_DRIVERS',
    fallback: '',
    meaning:
      'Drivers for cloud computers: `bubblewrap`, `docker`, or `off`. The first one that works is the default. Empty: `bubblewrap`, plus `docker` if UK_DOCKER_SOCKET is set.',
  },
  {
    name: 'UK_DOCKER_SOCKET',
    fallback: '',
    meaning:
      'Path of the Docker or Podman socket, such as `/run/podman/podman.sock`. Empty: the usual paths, if UK_COMPUTER_DRIVERS includes `docker`.',
  },
  {
    name: 'UK_DOCKER_IMAGES',
    fallback: 'docker.io/library/debian:stable-slim',
    meaning: 'Images available for cloud computers. Each needs a shell and `mkfifo`. Images are pulled on first use.',
  },
  {
    name: 'UK_COMPUTERS_PER_WORKSPACE',
    fallback: '20',
    meaning: 'Maximum number of cloud computers per workspace. 0: none.',
  },
  { name: 'UK_DRAIN_SECONDS', fallback: '20', meaning: 'How long a stopping server waits for requests to finish.' },
  {
    name: 'UK_STOP_SECONDS',
    fallback: '30',
    meaning:
      'How much longer a stop can take. After that, the log names what is still running and the process exits with code 1.',
  },
  { name: 'UK_LOG', fallback: 'info', meaning: 'Minimum log level: debug, info, warn, error.' },
  {
    name: 'UK_LOG_FORMAT',
    fallback: 'auto',
    meaning: 'Log format on stderr: text, json, or auto (text on a terminal, otherwise JSON).',
  },
  {
    name: 'SMTP_URL',
    fallback: '',
    meaning: 'SMTP server for sending email, such as smtp://user:password@host:port.',
    secret: true,
  },
  { name: 'UK_MAIL_FROM', fallback: 'Ukiyo <ukiyo@localhost>', meaning: 'Sender address of emails.' },
  { name: 'BRAVE_API_KEY', fallback: '', meaning: 'API key for web search with Brave.', secret: true },
  { name: 'BRAVE_BASE_URL', fallback: '', meaning: 'Base URL for Brave, to replace the default.' },
  { name: 'TAVILY_API_KEY', fallback: '', meaning: 'API key for web search with Tavily.', secret: true },
  { name: 'TAVILY_BASE_URL', fallback: '', meaning: 'Base URL for Tavily, to replace the default.' },
  {
    name: 'UK_EMBEDDING_MODEL',
    fallback: '',
    meaning:
      'Embedding model for search, such as openai/text-embedding-3-small (metered), or `off`. Empty: one from a local engine, if available.',
  },
  { name: 'SEARXNG_URL', fallback: '', meaning: 'URL of your SearXNG server for web search.' },
  {
    name: 'UK_CATALOGUE_URL',
    fallback: 'https://models.dev/api.json',
    meaning:
      'URL from which `POST /admin/catalogues` loads models and prices, in the format of models.dev or snapshot.json.',
  },
  {
    name: 'UK_LOCAL_ENGINES',
    fallback: '',
    meaning:
      'Local engines, such as `vllm=127.0.0.1:8001,…`, or `off`. Empty: look for LM Studio, llama.cpp, vLLM, LocalAI, whisper.cpp, Speaches, Kokoro-FastAPI and stable-diffusion.cpp on their usual ports.',
  },
  {
    name: 'OLLAMA_HOST',
    fallback: '',
    meaning: 'URL of your Ollama server, or `off`. Empty: look on its usual port on this machine.',
  },
  ...providers.flatMap((name): Setting[] => [
    {
      name: `${name}_API_KEY`,
      fallback: '',
      meaning: 'API key of the instance’s provider. Users pay with credits.',
      secret: true,
    },
    { name: `${name}_BASE_URL`, fallback: '', meaning: 'Base URL for the provider, to replace the default.' },
  ]),
]
