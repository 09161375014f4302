// What the loopback vendors of pictures, sound and video answer, to their own clients and to anybody.
import './made/made.cases.ts'
import './openai/openai.cases.ts'
import './openai/refusals.cases.ts'
import './google.cases.ts'
import './jobs/jobs.cases.ts'
import './sound/sound.cases.ts'
import './local/local.cases.ts'
