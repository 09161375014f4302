import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { migrationNames } from './migrate.ts'

export interface OwnNames {
  tables: ReadonlySet<string>
  sequences: ReadonlySet<string>
}

/**
 * Tables and sequences created by migrations, including later dropped ones. Others in the schema belong to other
 * programs.
 */
export function ownNames(): OwnNames {
  const text = migrationNames()
    .map((name) => readFileSync(join(import.meta.dirname, 'migrations', name), 'utf8'))
    .join('\n')
    .replaceAll(/--.*$/gm, '')
  const namesAfter = (words: RegExp): string[] => [...text.matchAll(words)].map(([, name]) => name!)
  return {
    tables: new Set([
      'migrations',
      ...namesAfter(/\bcreate (?:unlogged )?table (?:if not exists )?(\w+)/gi),
      ...namesAfter(/\brename to (\w+)/gi),
    ]),
    sequences: new Set(namesAfter(/\bcreate sequence (?:if not exists )?(\w+)/gi)),
  }
}
