% Train and test one network with one method, as the paper's equations are typed in MATLAB.
%
%   octave-cli table2.m METHOD FANOUT NETWORK DATA [WEIGHTS]
%
% METHOD is pi or lda. DATA is a .mat file with the images as columns (train_x, test_x: uint8) and the
% digits (train_t, test_t: 0 to 9). NETWORK seeds the input weights, unless WEIGHTS has them (W1).
% Everything is in double precision. Prints one line of name=value pairs.

1;                                                  % a script, not a function file

function kb = peak_kb()                             % of this process, since the last reset
  kb = regexp(fileread("/proc/self/status"), 'VmHWM:\s*(\d+) kB', "tokens"){1}{1};
end

function reset_peak()
  file = fopen("/proc/self/clear_refs", "w");
  fputs(file, "5");
  fclose(file);
end

args = argv();
method = args{1};
fanout = str2double(args{2});
load(args{4});
X = double(train_x) / 255;
X_test = double(test_x) / 255;
[L, K] = size(X);
M = fanout * L;
N = max(train_t) + 1;
T = double((0:N-1)' == train_t(:)');                % one-hot targets, N x K

cpu = cputime();
tic();
if numel(args) > 4
  load(args{5});
else
  rand("twister", str2double(args{3}));
  W1 = rand(M, L) - 0.5;
end
A = tanh(W1 * X);                                   % Eq. (2), M x K
hidden = toc();
hidden_peak = peak_kb();
reset_peak();                                       % W1 * X and A were in memory together

if strcmp(method, "pi")
  W = T * A' / (A * A');                            % Eq. (5)
else
  mu = zeros(M, N);
  Sigma = zeros(M, M);
  for n = 1:N
    A_n = A(:, T(n, :) == 1);
    mu(:, n) = mean(A_n, 2);                        % Eq. (12)
    A_n = bsxfun(@minus, A_n, mu(:, n));
    Sigma = Sigma + A_n * A_n';
  end
  Sigma = Sigma / K;
  W = (Sigma \ mu)';                                % Eq. (16)
  w0 = log(1 / N) - sum(mu .* W')' / 2;
  W = [w0, W];
end
solved = toc();

A_test = tanh(W1 * X_test);
if strcmp(method, "pi")
  Y = W * A_test;                                   % Eq. (3)
else
  Y = W * [ones(1, columns(A_test)); A_test];       % Eq. (15)
  Y = exp(bsxfun(@minus, Y, max(Y)));
  Y = bsxfun(@rdivide, Y, sum(Y));                  % Eq. (14)
end
[~, chosen] = max(Y);
seconds = toc();
cpu = cputime() - cpu;

errors = sum(chosen(:) - 1 ~= double(test_t(:)));
printf("errors=%d cpu_seconds=%.6g seconds=%.6g hidden_seconds=%.6g solve_seconds=%.6g ", ...
       errors, cpu, seconds, hidden, solved - hidden);
printf("test_seconds=%.6g hidden_peak_kb=%s peak_kb=%s octave=%s\n", seconds - solved, ...
       hidden_peak, peak_kb(), version());
