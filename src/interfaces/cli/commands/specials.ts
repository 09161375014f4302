import type { Terminal } from '../terminal.ts'

/** A command that is not an endpoint. Its module is loaded when it is run. */
export interface Special {
  words: readonly string[]
  usage: string
  summary: string
  /** Further paragraphs of its help. */
  more: string
  /** Examples, where the bare words say too little. */
  examples?: readonly string[]
  run(words: readonly string[], terminal: Terminal): Promise<number>
}

export const specials: readonly Special[] = [
  {
    words: ['ask'],
    usage:
      '[<prompt>] [--model <model>] [--agent <agent>] [--continue] [--chat <chat>] [--file <file>] [--workspace <name or id>] [--json] [--query <field>] [--jq <expression>] [--wait]',
    summary: 'Ask a model or an agent, and read the answer as it is written',
    more: 'Words need no quotes. What is piped in stands before the question. Short: -m, -a, -c, -f. It is a chat like any other: -c goes on with the last one, --chat with the one of that title or id. --file (again for more) takes a file of this machine, an address, or the id of a file of the drive. Without -m the chat, its agent, your settings (`uk settings update --default-model`) or the instance (UK_DEFAULT_MODEL) name the model, else a sensible one answers. Tools that need your word are asked about in a terminal; elsewhere it ends with 8. With --json, -q or --jq the whole answer is waited for.',
    examples: [
      "uk ask 'What is a monad?'",
      'git diff | uk ask -m sim/echo Write a commit message',
      'uk ask -c And shorter',
      'uk ask -f report.pdf -a Clerk Which numbers do not add up',
    ],
    run: async (...given) => (await import('./talk/ask.ts')).ask(...given),
  },
  {
    words: ['chat'],
    usage: '[<chat>] [--model <model>] [--agent <agent>] [--continue] [--workspace <name or id>]',
    summary: 'Talk with a model or an agent, in the terminal',
    more: 'A new chat, the one of that title or id, or with -c the last one. /file sends a file along, /model changes who answers, /help shows the rest. Ctrl-J, Alt-Enter or \\ at the end begin another line; what is pasted stays one message. Tools that need your word are asked about: y once, always for as long as the program runs, all else denies. Ctrl-C stops the answer and not the program.',
    examples: ['uk chat', 'uk chat -a Clerk', 'uk chat -c'],
    run: async (...given) => (await import('./talk/chat.ts')).chat(...given),
  },
  {
    words: ['open'],
    usage: '[<what>] [<name>] [--print]',
    summary: 'Open the app, or a thing in it',
    more: 'A chat or an automation by its name or id, or one of the pages home, usage, providers, keys, notifications, shared, invitations. Without a display, over SSH, in a pipe or with --print the link is printed.',
    examples: ['uk open', 'uk open chat Groceries', 'uk open usage --print'],
    run: async (...given) => (await import('./open.ts')).open(...given),
  },
  {
    words: ['login'],
    usage: '[--origin <url>] [--email <address>] [--password-stdin] [--no-input]',
    summary: 'Sign in, make a key for this machine and keep it',
    more: 'Signs in with e-mail address and password, makes an API key named after this machine, stores it where only you can read it, and signs out again. A key that an earlier login of yours made for the same instance is revoked.',
    run: async (...given) => (await import('./sign-in/login.ts')).login(...given),
  },
  {
    words: ['sign-up'],
    usage:
      '[--origin <url>] [--email <address>] [--name <name>] [--setup-token -|@file] [--invitation-token -|@file] [--password-stdin]',
    summary: 'Make an account, then the same as login',
    more: 'The first account of an instance is its administrator; away from the machine itself it needs the setup token that the server printed at its first start.',
    run: async (...given) => (await import('./sign-in/login.ts')).signUp(...given),
  },
  {
    words: ['logout'],
    usage: '',
    summary: 'Forget the stored key',
    more: 'The key itself goes on working until it is revoked by a signed-in person; the command says where.',
    run: async (...given) => (await import('./sign-in/login.ts')).logout(...given),
  },
  {
    words: ['whoami'],
    usage: '[--json]',
    summary: 'Who and where you are signed in',
    more: '',
    run: async (...given) => (await import('./sign-in/login.ts')).whoami(...given),
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
    words: ['computer', 'pair'],
    usage:
      '[--url <url>] [--name <name>] [--token-file -|<file>] [--workspace-id <id>] [--allow <capabilities>] [--root <folder>] [--no-update] [--replace]',
    summary: 'Make this machine one of your computers',
    more: 'With the token or code of a pairing, from UK_PAIR_TOKEN, a file, stdin (--token-file -) or a prompt; where you are signed in it makes one itself. What the server may do here is --allow, any of exec,terminal,fs_read,fs_write,ports,inference,users (default: all), and --root, the folders that it may reach (default: /). It is kept in UK_CONFIG_DIR, default ~/.config/ukiyo. A program that a server gave out is exchanged when the server has another version: never with --no-update, always with --update, else where `exec` or `terminal` is allowed.',
    examples: [
      'uk computer pair --url https://uk.example.com',
      'uk computer pair --url https://uk.example.com --token-file - --allow exec,fs_read --root /srv/shared < token',
    ],
    run: async (...given) => (await import('./computer.ts')).pair(...given),
  },
  {
    words: ['computer', 'run'],
    usage:
      '[--url <url>] [--name <name>] [--token-file -|<file>] [--allow <capabilities>] [--root <folder>] [--engine-context <tokens>] [--engine-gpu auto|off] [--engine-folder <folder>] [--engine-fetch-allow <addresses>] [--ollama <url>] [--no-update] [--detach]',
    summary: 'Connect this machine to its server, until it is stopped',
    more: 'It dials out and listens nowhere. Terminals and commands outlive it. A machine that is not paired yet is, as by `uk computer pair`. --allow, --root and --no-update are remembered for the next time, and so is what is said of local models: --engine-context (tokens of context that llama.cpp gives a model, at most; default 8192; they take memory), --engine-gpu off (leaves the graphics card alone), --engine-folder (where llama.cpp is installed), --engine-fetch-allow (`host:port,…` of this machine or its network that models may be fetched from), --ollama (the address of the Ollama to use; default: OLLAMA_HOST, else the one on this machine). OLLAMA_CONTEXT_LENGTH is read as Ollama itself reads it.',
    examples: ['uk computer run', 'uk computer run --detach --allow exec,terminal --root "$HOME"'],
    run: async (...given) => (await import('./computer.ts')).run(...given),
  },
  {
    words: ['computer', 'install'],
    usage:
      '[--url <url>] [--name <name>] [--token-file -|<file>] [--allow <capabilities>] [--root <folder>] [--no-update]',
    summary: 'Make the daemon of this machine a service of yours',
    more: 'Of systemd, with a unit of its own for terminals and commands, so that they go on while the daemon is begun again; or of launchd. A machine that is not paired yet is, as by `uk computer pair`. Given again, it changes what is allowed and begins the daemon again. It takes what `uk computer run` takes for local models.',
    run: async (...given) => (await import('./computer-service.ts')).install(...given),
  },
  {
    words: ['computer', 'uninstall'],
    usage: '',
    summary: 'Take that service away again',
    more: 'Terminals and commands that it holds end. The machine stays paired: `uk computer run` goes on with it, `uk computers delete` ends it.',
    run: async (...given) => (await import('./computer-service.ts')).uninstall(...given),
  },
  {
    words: ['computer', 'status'],
    usage: '[--json]',
    summary: 'Say whose computer this machine is, what it allows, and what runs',
    more: 'It also asks the server whether it still knows this machine: `known_to_server` is true, false, or – if the server does not answer.',
    run: async (...given) => (await import('./computer-service.ts')).status(...given),
  },
  {
    words: ['computer', 'exec'],
    usage:
      '<computer> [--detach] [--cwd <folder>] [--user <name>] [--env <name=value>] [--timeout <seconds>] -- <command>',
    summary: 'Run a command on a computer as if it ran here',
    more: 'Its output comes as it is put out, its input is what is piped in (beyond 1 MiB by a file in the home there, which takes `fs_write`), and the exit code is its own: 128 and the number of a signal that ended it, 124 after --timeout. Ctrl-C ends it there. With --detach (-d) it goes on by itself, without an input, and the id of its operation is printed: `uk operations content` shows what it has put out, `uk operations cancel` ends it.',
    examples: [
      "uk computer exec box -- sh -c 'cd src && make'",
      'echo piped | uk computer exec box --cwd /tmp --timeout 30 -- cat',
      'uk computer exec -d box -- python3 -m http.server 5173 --bind 127.0.0.1',
    ],
    run: async (...given) => (await import('./computers/exec.ts')).exec(...given),
  },
  {
    words: ['computer', 'ssh'],
    usage: '<computer> [--terminal <id>] [--shell <path>] [--user <name>] [--cwd <folder>]',
    summary: 'Open a terminal of a computer in this one',
    more: 'Enter, ~ and . leave it running; --terminal goes back to it, from here or anywhere else. A connection that breaks is made again and goes on where it was. The exit code is that of its program.',
    examples: ['uk computer ssh box', 'uk computer ssh box --terminal 01KAJ8R3T2M6QK5W9V0XBZC4DE'],
    run: async (...given) => (await import('./computers/ssh.ts')).ssh(...given),
  },
  {
    words: ['computer', 'cp'],
    usage: '<from>... <to> [--recursive] [--force]',
    summary: 'Copy files and folders to a computer, from one, or between two',
    more: 'A place is <computer>:path, below the home of its user unless it begins with a slash, a path on this machine (./its:name where it has a colon), or - for stdin or stdout. As with scp, what is copied to a folder that is there goes into it, and --recursive (-r) copies folders; `folder/.` is what is in one. Times and permissions are kept. What exists is replaced only with --force (-f); a file of the same size and time is passed over, so the same command goes on after an interruption, also within a file. A connection that breaks is made again by itself. Symlinks to files are copied as the files; what else is no file is left out, said, and ends with 1.',
    examples: [
      'uk computer cp notes.txt box:',
      'uk computer cp box:/var/log/syslog .',
      'uk computer cp -r project box:work',
      'tar -c project | uk computer cp - box:project.tar',
    ],
    run: async (...given) => (await import('./computers/cp/cp.ts')).cp(...given),
  },
  {
    words: ['admin', 'reset-password'],
    usage: '<email> [--password-stdin]',
    summary: 'Set the password of an account, on the host of the instance',
    more: 'Opens the database that this environment names (UK_DATA_DIR, default ./data in the current folder, or DATABASE_URL), so it needs the rights of whoever runs the server, and no server need run. All sessions of the account end.',
    run: async (...given) => (await import('./admin.ts')).resetPassword(...given),
  },
  {
    words: ['workspaces', 'use'],
    usage: '[<name>] [--clear] [--json]',
    summary: 'Choose the workspace that commands mean where none is named',
    more: 'By its name or id; without one it shows which is chosen, --clear ends it. It holds for what is made or looked for in a workspace: chats, agents, automations, the drive, computers, webhooks, inference and search. --workspace and UK_WORKSPACE win over it for one command; `--workspace none` is none.',
    examples: ['uk workspaces use Team', 'uk workspaces use', 'uk workspaces use --clear'],
    run: async (...given) => (await import('./workspaces.ts')).use(...given),
  },
  ...(['chatgpt', 'claude', 'open-webui'] as const).map((source): Special => ({
    words: ['import', source],
    usage: `<file> [--dry-run] [--yes] ${source === 'open-webui' ? '[--user <address>] [--uploads <folder>] ' : ''}[--workspace <name or id>] [--json]`,
    summary: `Bring chats from ${{ chatgpt: 'ChatGPT', claude: 'Claude', 'open-webui': 'Open WebUI' }[source]}, with their branches`,
    more: `${
      source === 'open-webui'
        ? 'The file is what its settings export (Export All Chats), or its webui.db, of which --user chooses a person. Its files are looked for in the folder `uploads` beside it, or in --uploads.'
        : 'The file is the ZIP of its data export, or the conversations.json in it.'
    } It says what it found and what is left out (thoughts, calls of tools, files that the export does not hold), then asks; files go to a folder of the drive; --yes goes on where nobody can be asked, --dry-run only says. A chat that was imported before is left as it is, so the same command goes on after an interruption.`,
    examples: [`uk import ${source} ${source === 'open-webui' ? 'chats.json' : 'export.zip'} --dry-run`],
    run: async (...given) => (await import('./import/import.ts')).importChats(source, ...given),
  })),
  {
    words: ['import', 'litellm'],
    usage:
      '<config.yaml> [--keys <file>] [--dry-run] [--yes] [--instance] [--workspace <name or id>] [--password-stdin] [--json]',
    summary: 'Bring models, provider keys and the budget of a LiteLLM proxy',
    more: 'Entries of model_list with the same provider, address and key become one provider endpoint, for you alone, for a workspace (--workspace), or for everybody (--instance). Keys that stand as os.environ/NAME are read from this environment. It says what is left out and why, and which models are called otherwise here, then asks. A provider that is there already is left as it is. --keys takes what `GET /key/list?return_full_object=true` of the proxy answers: its virtual keys are known there only by their hashes, so new ones are made, with the same names, caps, models and ends, and shown this once.',
    examples: ['uk import litellm config.yaml --dry-run', 'uk import litellm config.yaml --workspace Team --yes'],
    run: async (...given) => (await import('./import/litellm.ts')).importLitellm(...given),
  },
  {
    words: ['backup'],
    usage: '[--to <folder>|<file>.tar|-] [--keep <number>] [--with-key] [--passphrase-file -|<file>] [--json]',
    summary: 'Back up database and files, on the host of the instance, whether its server runs or not',
    more: 'Opens the database and the files that this environment names (UK_DATA_DIR, default ./data in the current folder; DATABASE_URL; UK_BLOBS): run it in the clone, or set UK_DATA_DIR. It works on them directly, so it needs the rights of whoever runs the server. The database is as it is at one moment, and the bytes of every file that it names come with it. A folder (default: ./backups) keeps many backups, and the bytes of files once for all of them, so that the next one brings only what is new; --keep leaves the newest and removes the others. A name that ends in .tar is one file, - is stdout. The root key, which reads stored provider keys and other secrets, is in it only with --with-key, under a passphrase that is asked for, or comes from --passphrase-file or UK_BACKUP_PASSPHRASE. Ends with 1 where the store had lost bytes, which it names.',
    examples: [
      'uk backup --to /var/backups/ukiyo --keep 14',
      'uk backup --to ukiyo.tar --with-key',
      'uk backup --to - | age -r age1… > ukiyo.tar.age',
    ],
    run: async (...given) => (await import('./host/host.ts')).backup(...given),
  },
  {
    words: ['restore'],
    usage: '<backup> [--dry-run] [--passphrase-file -|<file>] [--without-key] [--unsigned] [--resume] [--json]',
    summary: 'Restore a backup into an empty instance, on its host',
    more: 'Into the database and the files that this environment names (UK_DATA_DIR, default ./data in the current folder; DATABASE_URL; UK_BLOBS), with the server stopped. The backup is a .tar, the folder of one, or a folder of many, of which the newest whole one counts. It is checked against its hashes before anything is changed, and nothing is ever overwritten: a table that is not empty is named. --dry-run checks every byte and loads the rows into a temporary database on this host. A restore that was cut off leaves an empty instance, and is begun again by the same command. The root key must be here (UK_SECRET_KEY, or secret-key in the data dir), or in the backup with its passphrase; --without-key goes on without what it alone reads. The root key also signs each backup, and a changed one is refused; --unsigned restores one without a signature, as older versions made them. Mails, pushes and webhooks that waited are not sent, runs and operations that were under way are ended, and ticks of automations that have passed are left out, for the instance of the backup may have done all that since: --resume goes on with it, where that one was stopped before its backup.',
    examples: [
      'uk restore /var/backups/ukiyo --dry-run',
      'uk restore ukiyo.tar --passphrase-file passphrase.txt',
      'UK_DATA_DIR=/srv/ukiyo uk restore /var/backups/ukiyo/20261123T020000Z',
    ],
    run: async (...given) => (await import('./host/host.ts')).restore(...given),
  },
  {
    words: ['doctor'],
    usage: '[--json]',
    summary: 'Check settings, database, files, disk, mail, providers and backups, on the host of the instance',
    more: 'Works on the instance that this environment names (UK_DATA_DIR, default ./data in the current folder, or DATABASE_URL), whether its server runs or not, and says of each thing that is not well what would help. Ends with 1 where something must be mended; what is only worth knowing does not count.',
    run: async (...given) => (await import('./host/host.ts')).doctor(...given),
  },
  {
    words: ['listen'],
    usage: '[--forward <url>] [--events <types>] [--secret -|@file] [--workspace <name or id>] [--json]',
    summary: 'Bring the webhooks of a workspace to this machine',
    more: 'Shows each event, and with --forward sends it to an address of this machine as a webhook would: the same body, and a signature of Standard Webhooks. Nothing is set up on the server. The secret is one of this machine, which is said; --secret takes another. --events chooses types such as run.failed or chat.*, again for more; `uk webhooks event-types` lists them. What breaks off is made again and goes on where it was.',
    examples: ['uk listen', "uk listen --forward http://localhost:3000/hook --events 'chat.*'"],
    run: async (...given) => (await import('./listen.ts')).listen(...given),
  },
  {
    words: ['complete'],
    usage: '-- <words>',
    summary: 'Print the names that the last of these words may become',
    more: 'For the scripts of `uk completion`.',
    run: async (...given) => (await import('./complete.ts')).complete(...given),
  },
  {
    words: ['completion'],
    usage: 'bash|zsh|fish',
    summary: 'Print the completion script of a shell',
    more: 'bash: `uk completion bash > ~/.local/share/bash-completion/completions/uk`. zsh: `uk completion zsh > "${fpath[1]}/_uk"`. fish: `uk completion fish > ~/.config/fish/completions/uk.fish`.',
    run: async (...given) => (await import('./completion.ts')).completion(...given, specials),
  },
]

/** The special commands that begin with this word and are longer: `uk computer`. */
export const specialsUnder = (word: string): readonly Special[] =>
  specials.filter(({ words }) => words[0] === word && words.length > 1)

export const specialFor = (words: readonly string[]): Special | undefined =>
  specials.find((special) => special.words.every((word, i) => words[i] === word))
