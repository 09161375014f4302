// What the adapters of vendors of media ask, as loopback vendors take it: these were written from the same sources by others.
import './doubles/openai.cases.ts'
import './doubles/vendors.cases.ts'
