/** The rival that only reads: node:http, one named statement, JSON. Argument: the connection as JSON. */
import { createServer } from 'node:http'
import pg from 'pg'

const pool = new pg.Pool({ ...(JSON.parse(process.argv[2]!) as pg.PoolConfig), max: 20 })
const newest = { name: 'newest', text: 'select * from messages where chat_id = $1 order by seq desc limit 25' }

const server = createServer((request, response) => {
  void pool.query({ ...newest, values: [request.url!.slice(1)] }).then(({ rows }) => {
    const body = JSON.stringify({ data: rows }, (_, value: unknown) =>
      typeof value === 'bigint' ? Number(value) : value,
    )
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) }).end(body)
  })
})
server.listen(0, '127.0.0.1', () => process.stdout.write(`ready ${(server.address() as { port: number }).port}\n`))
