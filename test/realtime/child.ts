/** A server of a process of its own, on a database of the test's: says where it listens, and waits to be killed. */
import { testServer } from '../server.ts'

const [connection, dataDir, environment] = process.argv.slice(2)
const server = await testServer({
  database: { connection: JSON.parse(connection!) as object, dataDir: dataDir!, [Symbol.asyncDispose]: async () => {} },
  environment: JSON.parse(environment!) as Record<string, string>,
})
process.stdout.write(`${server.origin}\n`)
