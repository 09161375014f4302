import type { Special } from '../special.ts'

export const resetPasswordCommand: Special = {
  words: ['admin', 'reset-password'],
  usage: '<email> [--password-stdin]',
  summary: "Reset an account's password, on the server's host",
  more: "Opens the database directly, in UK_DATA_DIR (default ./data in the current folder) or at DATABASE_URL, so run it as the user that runs the server. The server doesn't have to be running. All sessions of the account are signed out.",
  run: async (...given) => (await import('../admin.ts')).resetPassword(...given),
}

export const instanceCommands: readonly Special[] = [
  {
    words: ['backup'],
    usage: '[--to <folder>|<file>.tar|-] [--keep <number>] [--with-key] [--passphrase-file -|<file>] [--json]',
    summary: "Back up the database and files, on the server's host",
    more: [
      'Opens the database and files directly, in UK_DATA_DIR (default ./data in the current folder), DATABASE_URL and UK_BLOBS, so run it as the user that runs the server, in its clone or with UK_DATA_DIR set. The server can be running. The backup is consistent: a snapshot of the database and every file it references.',
      '',
      'A folder (default: ./backups) holds many backups and stores each file only once, so later backups are incremental. --keep keeps only the newest ones. A name ending in .tar creates a single file, and - writes to stdout.',
      '',
      "The root key, which decrypts stored provider keys and other secrets, is included only with --with-key. It's encrypted with a passphrase from the prompt, --passphrase-file or UK_BACKUP_PASSPHRASE.",
      '',
      'Exits with 1 and lists the files if stored files are missing.',
    ].join('\n'),
    examples: [
      'uk backup --to /var/backups/ukiyo --keep 14',
      'uk backup --to ukiyo.tar --with-key',
      'uk backup --to - | age -r age1… > ukiyo.tar.age',
    ],
    run: async (...given) => (await import('./host.ts')).backup(...given),
  },
  {
    words: ['restore'],
    usage: '<backup> [--dry-run] [--passphrase-file -|<file>] [--without-key] [--unsigned] [--resume] [--json]',
    summary: 'Restore a backup into an empty instance, on its host',
    more: [
      "Stop the server first. Restores into the database and files set by UK_DATA_DIR (default ./data in the current folder), DATABASE_URL and UK_BLOBS. Never overwrites anything: if a table isn't empty, the restore stops and names it.",
      '',
      'The backup is a .tar file, the folder of one backup, or a folder of many, of which the newest complete one is used. All hashes are checked before anything changes. --dry-run checks every byte and loads the rows into a temporary database on this host. An interrupted restore leaves an empty instance; run the same command again.',
      '',
      'The root key must be on this host (UK_SECRET_KEY, or secret-key in the data folder), or in the backup with its passphrase. --without-key restores without it; data only the key can decrypt is lost. The root key also signs backups, and a modified backup is rejected. --unsigned restores a backup without a signature, as older versions created them.',
      '',
      "Waiting emails, push notifications and webhooks aren't sent, unfinished runs and operations are ended, and missed automation runs are skipped, since the original server may have done all that already. --resume continues them: use it if the original server was stopped before the backup.",
    ].join('\n'),
    examples: [
      'uk restore /var/backups/ukiyo --dry-run',
      'uk restore ukiyo.tar --passphrase-file passphrase.txt',
      'UK_DATA_DIR=/srv/ukiyo uk restore /var/backups/ukiyo/20261123T020000Z',
    ],
    run: async (...given) => (await import('./host.ts')).restore(...given),
  },
  {
    words: ['doctor'],
    usage: '[--json]',
    summary: "Check settings, database, files, disk, email, providers and backups, on the server's host",
    more: "Checks the instance set by UK_DATA_DIR (default ./data in the current folder) or DATABASE_URL, whether its server is running or not, and says how to fix each problem. Exits with 1 if something needs fixing. Warnings don't count.",
    run: async (...given) => (await import('./host.ts')).doctor(...given),
  },
]
