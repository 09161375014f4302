/** A server on the database and data dir of a test; says where it is, and waits to be killed. */
import { testServer } from '../server.ts'

const connection = JSON.parse(process.argv[2]!) as object
const server = await testServer({
  database: { connection, dataDir: process.argv[3]!, [Symbol.asyncDispose]: async () => {} },
})
process.stdout.write(`${server.origin}\n`)
