/** The rival that only reads: node:http, one named statement, JSON. Argument: the connection as JSON. */
import { createServer } from 'node:http'
import pg from 'pg'

const pool = new pg.Pool({ ...(JSON.parse(process.argv[2]!) as pg.PoolConfig), max: 20 })

const one = { name: 'one', text: 'select * from resources r join agents a on a.id = r.id where r.id = $1' }
const list = {
  name: 'list',
  text: `select * from resources r join agents a on a.id = r.id
    where r.workspace_id = $1 and r.kind = 'agent' and r.status = 'active' order by r.id desc limit 25`,
}

const server = createServer((request, response) => {
  const [, kind, id] = request.url!.split('/')
  void pool.query({ ...(kind === 'one' ? one : list), values: [id] }).then(({ rows }) => {
    const body = JSON.stringify({ data: kind === 'one' ? rows[0] : rows })
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) }).end(body)
  })
})
server.listen(0, '127.0.0.1', () => process.stdout.write(`ready ${(server.address() as { port: number }).port}\n`))
