import type { Terminal } from '../terminal.ts'

/** A command that is not an endpoint. Its module is loaded when it is run. */
export interface Special {
  words: readonly string[]
  usage: string
  summary: string
  /** Further paragraphs of its help. */
  more: string
  run(words: readonly string[], terminal: Terminal): Promise<number>
}

export const specials: readonly Special[] = [
  {
    words: ['login'],
    usage: '[--origin <url>] [--email <address>] [--password-stdin] [--no-input]',
    summary: 'Sign in, make a key for this machine and keep it',
    more: 'Signs in with e-mail address and password, makes an API key named after this machine, stores it where only you can read it, and signs out again. A key that an earlier login of yours made for the same instance is revoked.',
    run: async (...given) => (await import('./login.ts')).login(...given),
  },
  {
    words: ['sign-up'],
    usage:
      '[--origin <url>] [--email <address>] [--name <name>] [--setup-token -|@file] [--invitation-token -|@file] [--password-stdin]',
    summary: 'Make an account, then the same as login',
    more: 'The first account of an instance is its administrator; away from the machine itself it needs the setup token that the server printed at its first start.',
    run: async (...given) => (await import('./login.ts')).signUp(...given),
  },
  {
    words: ['logout'],
    usage: '',
    summary: 'Forget the stored key',
    more: 'The key itself goes on working until it is revoked by a signed-in person; the command says where.',
    run: async (...given) => (await import('./login.ts')).logout(...given),
  },
  {
    words: ['whoami'],
    usage: '[--json]',
    summary: 'Who and where you are signed in',
    more: '',
    run: async (...given) => (await import('./login.ts')).whoami(...given),
  },
  {
    words: ['config'],
    usage: '[--json]',
    summary: 'List the settings of the server, with their values in this environment',
    more: 'Settings are environment variables. The value of a secret is never shown.',
    run: async (...given) => (await import('./config.ts')).config(...given),
  },
  {
    words: ['routes'],
    usage: '[--json]',
    summary: 'Show which of the specified routes this version serves',
    more: 'Exits with 1 if one is missing.',
    run: async (...given) => (await import('../routes/routes.ts')).routes(...given),
  },
  {
    words: ['mcp'],
    usage: '[--origin <url>]',
    summary: 'Serve the agent tool on stdin and stdout, for MCP clients',
    more: 'Give `uk mcp` to an MCP client as its command. It calls the instance with the stored key, or with UK_KEY and UK_ORIGIN.',
    run: async (...given) => (await import('./mcp.ts')).mcp(...given),
  },
  {
    words: ['admin', 'reset-password'],
    usage: '<email> [--password-stdin]',
    summary: 'Set the password of an account, on the host of the instance',
    more: 'Opens the database that this environment names (UK_DATA_DIR or DATABASE_URL), so it needs the rights of whoever runs the server, and no server need run. All sessions of the account end.',
    run: async (...given) => (await import('./admin.ts')).resetPassword(...given),
  },
  {
    words: ['completion'],
    usage: 'bash|zsh|fish',
    summary: 'Print the completion script of a shell',
    more: 'bash: `uk completion bash > ~/.local/share/bash-completion/completions/uk`. zsh: `uk completion zsh > "${fpath[1]}/_uk"`. fish: `uk completion fish > ~/.config/fish/completions/uk.fish`.',
    run: async (...given) => (await import('./completion.ts')).completion(...given, specials),
  },
]

export const specialFor = (words: readonly string[]): Special | undefined =>
  specials.find((special) => special.words.every((word, i) => words[i] === word))
