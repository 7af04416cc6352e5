#!/usr/bin/env node
// Runs the program, which is in the package of this platform.
'use strict'

const { spawn } = require('node:child_process')
const { constants } = require('node:os')

const name = `@dogwood/dogwood-${process.platform}-${process.arch}`
const file = process.platform === 'win32' ? 'dogwood.exe' : 'dogwood'

function program() {
  try {
    return require.resolve(`${name}/bin/${file}`)
  } catch {
    console.error(
      `dogwood: the package ${name} is missing. If there is one for this platform, ` +
        'install again without --omit=optional and without --no-optional.'
    )
    process.exit(1)
  }
}

// Whatever ends this process must find what passes it on: all of it is there before the program
// can say that it listens.
let child

// A terminal sends its signals to the program, too, which decides when it ends. Supervisors
// send theirs to this process only.
let told = false
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) {
  process.on(signal, () => {
    told = true
    child.kill(signal)
  })
}

// npx passes SIGTERM on to a shell. Where that does not run this file in its own process, as
// dash, it ends and passes nothing on. A second signal would end the program at once.
if (process.env.npm_lifecycle_event === 'npx') {
  const parent = process.ppid
  const look = setInterval(() => {
    if (process.ppid === parent) return
    clearInterval(look)
    if (!told) child.kill('SIGTERM')
  }, 200).unref()
}

child = spawn(program(), process.argv.slice(2), { stdio: 'inherit' })
child.on('error', err => {
  console.error(`dogwood: ${err.message}`)
  process.exit(1)
})
child.on('exit', (code, signal) => process.exit(code ?? 128 + (constants.signals[signal] ?? 0)))
