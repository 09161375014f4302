import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'

const root = join(import.meta.dirname, '../..')

// The outbox's `resource_id` may be of any kind and is text in its table too. Elsewhere, a `text` value prevents the
// index: PostgreSQL casts the column and scans the table.
test('IDs in record lists of statements are typed as IDs, not text', () => {
  const lists = globSync('src/{modules,authz}/**/*.ts', { cwd: root }).flatMap((file) =>
    [...readFileSync(join(root, file), 'utf8').matchAll(/recordset\([^`]*?\bas \w+\(([^()]*)\)/g)].map(
      ([, columns]) => ({ file, columns: columns!.split(',').map((column) => column.trim().split(/\s+/)) }),
    ),
  )
  assert.ok(lists.length > 8, 'the lists were read')
  assert.deepEqual(
    lists.flatMap(({ file, columns }) =>
      columns
        .filter(([name, type]) => /^(\w+_)?id$/.test(name!) && name !== 'resource_id' && type === 'text')
        .map(([name]) => `${file}: ${name}`),
    ),
    [],
  )
})
