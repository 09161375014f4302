/** The systemd units in docs/operating/install.md. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'

export const root = join(import.meta.dirname, '../..')
const docs = readFileSync(join(root, 'docs/operating/install.md'), 'utf8')

/** Each unit by its name, which stands in its first line. */
export const units = new Map(
  [...docs.matchAll(/<!-- systemd -->\s+```ini\n# \/etc\/systemd\/system\/(\S+)\n([^]*?)```/g)].map(
    ([, name, text]) => [name!, text!],
  ),
)
