import { computerCommands } from './computers/commands.ts'
import { instanceCommands, resetPasswordCommand } from './host/commands.ts'
import type { Special } from './special.ts'

export const specials: readonly Special[] = [
  {
    words: ['ask'],
    usage:
      '[<prompt>] [--model <model>] [--agent <agent>] [--continue] [--chat <chat>] [--file <file>] [--workspace <name or ID>] [--json] [--query <field>] [--jq <expression>] [--wait]',
    summary: 'Ask a model or an agent one question',
    more: [
      'Quotes are optional. Piped input goes before the question. With --json, -q or --jq, prints the complete answer at once.',
      '',
      'Each question starts a chat. -c continues the last one, --chat continues the one with that title or ID.',
      '',
      '--file attaches a local file, a URL, or a drive file by ID. Repeatable.',
      '',
      'Without --model, the model comes from the chat, its agent, your settings (`uk settings update --default-model`) or the server (UK_DEFAULT_MODEL), else Ukiyo picks one.',
      '',
      'Tool calls that need approval prompt in a terminal. Without one, the command exits with 8.',
      '',
      'Short options: -m --model, -a --agent, -c --continue, -f --file.',
    ].join('\n'),
    examples: [
      "uk ask 'What is a monad?'",
      'git diff | uk ask -m sim/echo Write a commit message',
      'uk ask -c And shorter',
      'uk ask -f report.pdf -a Clerk Find the errors in this report',
    ],
    run: async (...given) => (await import('./talk/ask.ts')).ask(...given),
  },
  {
    words: ['chat'],
    usage: '[<chat>] [--model <model>] [--agent <agent>] [--continue] [--workspace <name or ID>]',
    summary: 'Chat with a model or an agent in the terminal',
    more: [
      'Starts a new chat, opens the chat with that title or ID, or continues the last one with -c.',
      '',
      'Type /file to attach a file, /model to switch models, and /help for all commands. For a new line, press Ctrl-J or Alt-Enter, or end the line with \\. Pasted text stays one message.',
      '',
      'Tool calls that need approval prompt: y allows the call, always allows the tool for the rest of the chat if the server supports it, anything else denies.',
      '',
      'Ctrl-C stops the answer, not the program.',
    ].join('\n'),
    examples: ['uk chat', 'uk chat -a Clerk', 'uk chat -c'],
    run: async (...given) => (await import('./talk/chat.ts')).chat(...given),
  },
  {
    words: ['open'],
    usage: '[<what>] [<name>] [--print]',
    summary: 'Open the app in your browser',
    more: [
      'Opens a chat or an automation by name or ID, or one of these pages: home, usage, providers, keys, notifications, shared, invitations.',
      '',
      'Without a display, over SSH, in a pipe, or with --print, it prints the link instead.',
    ].join('\n'),
    examples: ['uk open', 'uk open chat Groceries', 'uk open usage --print'],
    run: async (...given) => (await import('./open.ts')).open(...given),
  },
  {
    words: ['login'],
    usage: '[--origin <url>] [--email <address>] [--password-stdin] [--no-input]',
    summary: 'Sign in and store an API key for this machine',
    more: [
      'Signs in with your email and password, creates an API key named after this machine, and stores it where only you can read it.',
      '',
      'If you were signed in to the same server with this account, the old key is revoked.',
    ].join('\n'),
    run: async (...given) => (await import('./sign-in/login.ts')).login(...given),
  },
  {
    words: ['sign-up'],
    usage:
      '[--origin <url>] [--email <address>] [--name <name>] [--setup-token -|@file] [--invitation-token -|@file] [--password-stdin]',
    summary: 'Create an account and sign in',
    more: 'The first account on a server is its administrator. To create it from another machine, you need the setup token the server printed when it first started.',
    run: async (...given) => (await import('./sign-in/login.ts')).signUp(...given),
  },
  {
    words: ['logout'],
    usage: '',
    summary: 'Sign out and delete the stored key from this machine',
    more: 'The API key itself stays valid until you revoke it. The command prints how.',
    run: async (...given) => (await import('./sign-in/login.ts')).logout(...given),
  },
  {
    words: ['whoami'],
    usage: '[--json]',
    summary: "Show who you're signed in as, and where",
    more: '',
    run: async (...given) => (await import('./sign-in/login.ts')).whoami(...given),
  },
  {
    words: ['config'],
    usage: '[--json]',
    summary: 'List server settings and their values in this environment',
    more: 'Settings are environment variables. Secrets are never shown.',
    run: async (...given) => (await import('./config.ts')).config(...given),
  },
  {
    words: ['routes'],
    usage: '[--json]',
    summary: 'Check that this version serves all specified API routes',
    more: 'Exits with 1 if a route is missing.',
    run: async (...given) => (await import('../routes/routes.ts')).routes(...given),
  },
  {
    words: ['mcp'],
    usage: '[--origin <url>]',
    summary: 'Run an MCP server on stdin and stdout',
    more: 'Set `uk mcp` as the command in your MCP client. It connects to the server with your login, or with UK_KEY and UK_ORIGIN.',
    run: async (...given) => (await import('./mcp.ts')).mcp(...given),
  },
  ...computerCommands,
  resetPasswordCommand,
  {
    words: ['workspaces', 'use'],
    usage: '[<name>] [--clear] [--json]',
    summary: 'Select the workspace commands use by default',
    more: [
      'Pass a name or ID. Without one, shows the selected workspace. --clear removes the selection.',
      '',
      'It applies to chats, agents, automations, the drive, computers, webhooks, inference and search. --workspace and UK_WORKSPACE override it for one command, and `--workspace none` ignores it.',
    ].join('\n'),
    examples: ['uk workspaces use Team', 'uk workspaces use', 'uk workspaces use --clear'],
    run: async (...given) => (await import('./workspaces.ts')).use(...given),
  },
  ...(['chatgpt', 'claude', 'open-webui'] as const).map((source): Special => ({
    words: ['import', source],
    usage: `<file> [--dry-run] [--yes] ${source === 'open-webui' ? '[--user <email>] [--uploads <folder>] ' : ''}[--workspace <name or ID>] [--json]`,
    summary: `Import chats from ${{ chatgpt: 'ChatGPT', claude: 'Claude', 'open-webui': 'Open WebUI' }[source]}, including branches`,
    more: [
      source === 'open-webui'
        ? 'Pass the file from Settings > Export All Chats, or webui.db. For a webui.db with several users, choose one with --user. Attached files are read from the uploads folder next to the file, or from --uploads.'
        : 'Pass the ZIP file of your data export, or the conversations.json in it.',
      '',
      'Before importing, it shows what it found and what will be skipped (model thoughts, tool calls, files missing from the export), then asks for confirmation. --yes skips the question, --dry-run only shows the preview.',
      '',
      'Files go to a drive folder. Chats imported before are skipped, so you can run the same command again after an interruption.',
    ].join('\n'),
    examples: [`uk import ${source} ${source === 'open-webui' ? 'chats.json' : 'export.zip'} --dry-run`],
    run: async (...given) => (await import('./import/import.ts')).importChats(source, ...given),
  })),
  {
    words: ['import', 'litellm'],
    usage:
      '<config.yaml> [--keys <file>] [--dry-run] [--yes] [--instance] [--workspace <name or ID>] [--password-stdin] [--json]',
    summary: 'Import models, provider keys and the budget of a LiteLLM proxy',
    more: [
      "Entries in model_list with the same provider, URL and key become one provider: for yourself, for a workspace (--workspace), or for everyone (--instance). Keys written as os.environ/NAME are read from this environment. Existing providers aren't changed.",
      '',
      'Before importing, it shows what will be skipped and which models get a new name, then asks for confirmation.',
      '',
      "--keys takes the output of the proxy's `GET /key/list?return_full_object=true`. LiteLLM stores only hashes of its virtual keys, so new keys are created with the same names, caps, models and expiry dates, and shown only once.",
    ].join('\n'),
    examples: ['uk import litellm config.yaml --dry-run', 'uk import litellm config.yaml --workspace Team --yes'],
    run: async (...given) => (await import('./import/litellm.ts')).importLitellm(...given),
  },
  ...instanceCommands,
  {
    words: ['listen'],
    usage: '[--forward <url>] [--events <types>] [--secret -|@file] [--workspace <name or ID>] [--json]',
    summary: "Forward a workspace's webhook events to this machine",
    more: [
      'Prints each event. --forward sends it to a local URL with the body and the Standard Webhooks signature of a real delivery. Nothing is created on the server.',
      '',
      "Events are signed with this machine's secret, which is printed at the start. --secret sets another one. --events filters by type, such as run.failed or chat.* (repeatable); run `uk webhooks event-types` for the list. Lost connections are restored automatically without missing events.",
    ].join('\n'),
    examples: ['uk listen', "uk listen --forward http://localhost:3000/hook --events 'chat.*'"],
    run: async (...given) => (await import('./listen.ts')).listen(...given),
  },
  {
    words: ['complete'],
    usage: '-- <words>',
    summary: 'Print completions for a partial command',
    more: 'Used by the scripts of `uk completion`.',
    run: async (...given) => (await import('./complete.ts')).complete(...given),
  },
  {
    words: ['completion'],
    usage: 'bash|zsh|fish',
    summary: 'Print a shell completion script',
    more: [
      'bash: `uk completion bash > ~/.local/share/bash-completion/completions/uk`',
      'zsh: `uk completion zsh > "${fpath[1]}/_uk"`',
      'fish: `uk completion fish > ~/.config/fish/completions/uk.fish`',
    ].join('\n'),
    run: async (...given) => (await import('./completion.ts')).completion(...given, specials),
  },
]

/** Special commands in the group of this word: `uk computer`. */
export const specialsUnder = (word: string): readonly Special[] =>
  specials.filter(({ words }) => words[0] === word && words.length > 1)

export const specialFor = (words: readonly string[]): Special | undefined =>
  specials.find((special) => special.words.every((word, i) => words[i] === word))
