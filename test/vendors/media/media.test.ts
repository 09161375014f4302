// The answers of the loopback media vendors, to their own clients and to plain requests.
import './made/made.cases.ts'
import './openai/openai.cases.ts'
import './openai/refusals.cases.ts'
import './google.cases.ts'
import './jobs/jobs.cases.ts'
import './sound/sound.cases.ts'
import './local/local.cases.ts'
