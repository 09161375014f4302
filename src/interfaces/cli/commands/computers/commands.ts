import type { Special } from '../special.ts'

export const computerCommands: readonly Special[] = [
  {
    words: ['computer', 'pair'],
    usage:
      '[--url <url>] [--name <name>] [--token-file -|<file>] [--workspace-id <id>] [--allow <capabilities>] [--root <folder>] [--no-update] [--replace]',
    summary: 'Connect this machine to your Ukiyo account',
    more: [
      "If you're signed in, no token is needed. Otherwise pass a pairing token or code in UK_PAIR_TOKEN, a file, stdin (--token-file -) or at the prompt.",
      '',
      '--allow limits what the server can do here: any of exec,terminal,fs_read,fs_write,ports,inference,users (default: all). --root limits the folders it can reach (default: /).',
      '',
      'The pairing is stored in UK_CONFIG_DIR (default: ~/.config/ukiyo).',
      '',
      'A daemon installed from a server updates itself when the server has another version: always with --update, never with --no-update, otherwise only if `exec` or `terminal` is allowed.',
    ].join('\n'),
    examples: [
      'uk computer pair --url https://uk.example.com',
      'uk computer pair --url https://uk.example.com --token-file - --allow exec,fs_read --root /srv/shared < token',
    ],
    run: async (...given) => (await import('../computer.ts')).pair(...given),
  },
  {
    words: ['computer', 'run'],
    usage:
      '[--url <url>] [--name <name>] [--token-file -|<file>] [--allow <capabilities>] [--root <folder>] [--engine-context <tokens>] [--engine-gpu auto|off] [--engine-folder <folder>] [--engine-fetch-allow <addresses>] [--ollama <url>] [--no-update] [--detach]',
    summary: "Run this machine's daemon in the foreground",
    more: [
      "The daemon connects to the server and opens no ports. Terminals and commands keep running when it stops. If this machine isn't paired yet, it's paired first, as with `uk computer pair`.",
      '',
      'These options are remembered for the next start: --allow, --root, --no-update, and the ones for local models:',
      '--engine-context: maximum context of a llama.cpp model in tokens (default: 8192). Larger contexts use more memory.',
      "--engine-gpu off: don't use the graphics card.",
      '--engine-folder: where llama.cpp is installed.',
      '--engine-fetch-allow: local addresses models can be downloaded from, as `host:port,…`.',
      '--ollama: the Ollama server to use (default: OLLAMA_HOST, else the one on this machine). OLLAMA_CONTEXT_LENGTH works as in Ollama.',
    ].join('\n'),
    examples: ['uk computer run', 'uk computer run --detach --allow exec,terminal --root "$HOME"'],
    run: async (...given) => (await import('../computer.ts')).run(...given),
  },
  {
    words: ['computer', 'install'],
    usage:
      '[--url <url>] [--name <name>] [--token-file -|<file>] [--allow <capabilities>] [--root <folder>] [--no-update]',
    summary: "Install this machine's daemon as a service",
    more: [
      'Uses systemd or launchd. With systemd, a second unit keeps terminals and commands running while the daemon restarts.',
      '',
      "If this machine isn't paired yet, it's paired first, as with `uk computer pair`. Run it again to change options; the daemon restarts. It also takes the local model options of `uk computer run`.",
    ].join('\n'),
    run: async (...given) => (await import('../computer-service.ts')).install(...given),
  },
  {
    words: ['computer', 'uninstall'],
    usage: '',
    summary: "Remove the daemon's service",
    more: 'Stops the terminals and commands the service holds. The machine stays paired: start the daemon again with `uk computer run`, or unpair it with `uk computers delete`.',
    run: async (...given) => (await import('../computer-service.ts')).uninstall(...given),
  },
  {
    words: ['computer', 'status'],
    usage: '[--json]',
    summary: "Show this machine's pairing, permissions and processes",
    more: "`known_to_server` is true or false, or – if the server can't be reached.",
    run: async (...given) => (await import('../computer-service.ts')).status(...given),
  },
  {
    words: ['computer', 'exec'],
    usage:
      '<computer> [--detach] [--cwd <folder>] [--user <name>] [--env <name=value>] [--timeout <seconds>] -- <command>',
    summary: 'Run a command on a computer',
    more: [
      'Streams the output, pipes your stdin to the command, and exits with its exit code: 128 plus the signal number if a signal ended it, 124 after --timeout. Ctrl-C stops the command.',
      '',
      "Piped input over 1 MiB goes through a file in the computer's home folder, which needs `fs_write`.",
      '',
      '--detach (-d) runs it in the background without input and prints an operation ID. Show the output with `uk operations content`, stop it with `uk operations cancel`.',
    ].join('\n'),
    examples: [
      "uk computer exec box -- sh -c 'cd src && make'",
      'echo piped | uk computer exec box --cwd /tmp --timeout 30 -- cat',
      'uk computer exec -d box -- python3 -m http.server 5173 --bind 127.0.0.1',
    ],
    run: async (...given) => (await import('./exec.ts')).exec(...given),
  },
  {
    words: ['computer', 'ssh'],
    usage: '<computer> [--terminal <id>] [--shell <path>] [--user <name>] [--cwd <folder>]',
    summary: 'Open a terminal on a computer',
    more: "Press Enter, ~ and . to detach. The terminal keeps running; --terminal reattaches to it from any machine. Lost connections are restored automatically. The exit code is the one of the terminal's program.",
    examples: ['uk computer ssh box', 'uk computer ssh box --terminal 01KAJ8R3T2M6QK5W9V0XBZC4DE'],
    run: async (...given) => (await import('./ssh.ts')).ssh(...given),
  },
  {
    words: ['computer', 'cp'],
    usage: '<from>... <to> [--recursive] [--force]',
    summary: 'Copy files and folders to, from or between computers',
    more: [
      'Paths are <computer>:path (relative to the home folder unless it starts with a slash), a local path (write ./file:name if it contains a colon), or - for stdin or stdout.',
      '',
      "As with scp, copying to an existing folder copies into it, and --recursive (-r) copies folders. `folder/.` copies only the folder's content. Times and permissions are kept.",
      '',
      'Existing files are replaced only with --force (-f). Files with the same size and time are skipped, so running the same command again resumes an interrupted copy, even within a file. Lost connections are restored automatically.',
      '',
      'Symlinks to files are copied as files. Anything else is skipped with a message, and the exit code is 1.',
    ].join('\n'),
    examples: [
      'uk computer cp notes.txt box:',
      'uk computer cp box:/var/log/syslog .',
      'uk computer cp -r project box:work',
      'tar -c project | uk computer cp - box:project.tar',
    ],
    run: async (...given) => (await import('./cp/cp.ts')).cp(...given),
  },
]
