# SPDX-License-Identifier: Apache-2.0
# A program that locks with with_advisory_lock(), for callers.sh.
#
#   caller_rails.rb postgresql|mysql2 DATABASE USER SOCKET
#
#   try NAME     timeout_seconds: 0; a NAME of digits is passed as an Integer
#   share NAME   the same, and shared: true
#   wait NAME    until it is held
#   end          of the block; of the program, outside of one
require 'active_record'
require 'with_advisory_lock'

class Report < ActiveRecord::Base
end

OPTIONS = {
  'try' => { timeout_seconds: 0 },
  'share' => { timeout_seconds: 0, shared: true },
  'wait' => {}
}.freeze

def answer(text)
  puts text
  $stdout.flush
end

adapter, database, user, socket = ARGV
ActiveRecord::Base.establish_connection(
  adapter: adapter, database: database, username: user,
  (adapter == 'mysql2' ? :socket : :host) => socket
)
answer "with_advisory_lock #{WithAdvisoryLock::VERSION}, " \
       "Active Record #{ActiveRecord::VERSION::STRING}, Ruby #{RUBY_VERSION}"
while (line = $stdin.gets) && line != "end\n"
  verb, name = line.chomp.split(' ', 2)
  name = name.to_i if name.match?(/\A\d+\z/)
  ran = Report.with_advisory_lock(name, OPTIONS.fetch(verb)) do
    answer 'held'
    $stdin.gets
    true
  end
  answer ran ? 'released' : 'refused'
end
