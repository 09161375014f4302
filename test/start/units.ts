/** The units that docs/operating.md has to paste. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'

export const root = join(import.meta.dirname, '../..')
export const docs = readFileSync(join(root, 'docs/operating.md'), 'utf8')

/** Each unit by its name, which stands in its first line. */
export const units = new Map(
  [...docs.matchAll(/<!-- systemd -->\s+```ini\n# \/etc\/systemd\/system\/(\S+)\n([^]*?)```/g)].map(
    ([, name, text]) => [name!, text!],
  ),
)
