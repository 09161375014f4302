/** A server in the middle of two operations; says which, and waits to be killed. */
import { testServer } from '../server.ts'
import { endless, worksService } from './works.ts'

const begun: string[] = []
const both = Promise.withResolvers<void>()
const kinds = endless((how) => {
  if (begun.push(how) === 2) both.resolve()
})
const connection = JSON.parse(process.argv[2]!) as object
const server = await testServer({
  database: { connection, dataDir: process.argv[3]!, [Symbol.asyncDispose]: async () => {} },
  operations: kinds,
  services: [worksService(kinds)],
})
const person = await server.person('Ann')
const ids: string[] = []
for (const { name } of kinds) ids.push((await person.post('/works', { how: name })).body.data.id)
await both.promise
process.stdout.write(`${JSON.stringify({ ids, headers: person.headers })}\n`)
